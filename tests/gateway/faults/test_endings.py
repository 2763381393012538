"""SIGTERM, SIGKILL, clients that leave: nothing that was answered is lost."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
from echo_upstream import EchoUpstream
from fault_givens import IBAN, PROMPT, ask, ledger_folder
from surface_givens import API_KEY
from waiting import until

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.gateway.settings import load_settings


def test_running_answers_finish_after_sigterm(start: Callable[..., Any], pool: EchoUpstream) -> None:
    gateway = start()
    pool.script.hold = threading.Event()
    stream = ask(gateway, model="inside", stream=True).parse()
    first = next(stream)
    gateway.process.send_signal(signal.SIGTERM)
    threading.Timer(0.5, pool.script.hold.set).start()
    text = "".join(c.delta.content or "" for chunk in (first, *stream) for c in chunk.choices)
    assert text == PROMPT
    assert gateway.stop() in (0, -signal.SIGTERM)
    records = gateway.records()
    assert records[-1]["reason"] == "answered"
    assert '"event": "stopped"' in gateway.log()
    checkpoint = (ledger_folder(gateway) / "checkpoint").read_text()
    assert int(checkpoint.splitlines()[1]) == sum(1 for _ in LedgerReader(ledger_folder(gateway)).entries())


def test_a_client_that_leaves_is_recorded_and_the_upstream_let_go(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    pool.script.hold = threading.Event()
    stream = ask(gateway, model="inside", stream=True).parse()
    next(iter(stream))
    stream.close()
    until(lambda: gateway.records()[-1].get("reason") == "client-left", "it is on record")
    pool.script.hold.set()
    until(lambda: is_idle(gateway), "nothing is in flight")


def is_idle(gateway: Any) -> bool:
    return b"sovctl_gateway_in_flight_requests 0.0\n" in gateway.request("GET", "/metrics")[2]


def test_a_client_that_leaves_before_an_answer_begins_is_noticed_though_the_upstream_is_silent(
    gateway: Any, pool: EchoUpstream
) -> None:
    for more in ({}, {"stream": True}):
        pool.script.hold_answer = threading.Event()
        before, asked = len(gateway.records()), len(pool.requests)
        body = {"model": "inside", "messages": [{"role": "user", "content": PROMPT}], **more}
        connection = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=gateway.tls, timeout=60)
        with closing(connection):
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": f"Bearer {API_KEY}"})
            until(lambda asked=asked: len(pool.requests) > asked, "the pool is asked")  # type: ignore[misc]
        until(lambda before=before: len(gateway.records()) > before + 1, "it is on record")  # type: ignore[misc]
        request, answer = gateway.records()[before:]
        assert (request["type"], answer["type"], answer["reason"]) == (
            "gateway.request",
            "gateway.answer",
            "client-left",
        )
        until(lambda: is_idle(gateway), "nothing is in flight")
        pool.script.hold_answer.set()
        pool.script.hold_answer = None


def test_kill_9_under_load_loses_nothing_that_was_answered(
    start: Callable[..., Any], start_from: Callable[..., Any], cloud: EchoUpstream, tmp_path: Path
) -> None:
    gateway = start()
    answered: list[tuple[int, str, str]] = []

    def ask_on(lane: int) -> None:
        for number in range(1000):
            content = f"Please write to user{lane}-{number}@example.com about {IBAN}"
            try:
                answer = ask(gateway, content, extra_headers={"x-sovctl-conversation": f"{lane}"})
                assert answer.parse().choices[0].message.content == content
            except openai.APIConnectionError:
                return
            answered.append((lane, answer.headers["x-sovctl-request-id"], f"user{lane}-{number}@example.com"))

    with ThreadPoolExecutor(4) as lanes:
        running = [lanes.submit(ask_on, lane) for lane in range(4)]
        try:
            until(lambda: len(answered) >= 60 and len({lane for lane, _, _ in answered}) == 4, "enough is answered")
        finally:
            gateway.process.kill()
        for lane in running:
            lane.result()
    assert gateway.process.wait(60) == -signal.SIGKILL
    recorded: dict[str, set[str]] = {}
    for record in gateway.records():
        recorded.setdefault(record.get("id", ""), set()).add(record["type"])
    assert all(recorded[request_id] == {"gateway.request", "gateway.answer"} for _, request_id, _ in answered)
    settings = load_settings(gateway.config)
    with Ledger.open(
        settings.ledger.directory, origin=settings.ledger.origin, key=load_or_create(settings.ledger.key_file)
    ) as ledger:  # refuses a ledger that is not what was signed
        assert ledger.size >= len(recorded)
    again = start_from(gateway.config, tmp_path / "log")
    sent = [request["messages"][0]["content"] for request in cloud.requests]
    for lane in range(4):
        mail = [mail for its, _, mail in answered if its == lane][-1]
        token = next(c.split(" ")[3] for c in reversed(sent) if _is_about(again, cloud, c, lane, mail))
        assert token.startswith("EMAIL_")


def _is_about(gateway: Any, cloud: EchoUpstream, sent: str, lane: int, mail: str) -> bool:
    """True when the token in `sent`, said by the cloud after the restart, is restored to `mail`."""
    token = sent.split(" ")[3]
    cloud.script.message = lambda _: {"role": "assistant", "content": token}
    headers = {"x-sovctl-conversation": f"{lane}"}
    reply = ask(gateway, "What was the address that I told you?", extra_headers=headers)
    return bool(reply.parse().choices[0].message.content == mail)
