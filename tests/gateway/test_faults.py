"""What happens when something fails: a defined answer, nothing leaves that must not, nothing acknowledged is lost."""

from __future__ import annotations

import json
import resource
import signal
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
import uvicorn
import yaml
from echo_upstream import EchoUpstream

from sovctl.compliance.keys import load_or_create
from sovctl.compliance.ledger.store import Ledger
from sovctl.gateway.app import App
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.server import Parts
from sovctl.gateway.settings import load_settings

IBAN, MAIL = "DE89370400440532013000", "anna@example.com"
PROMPT = f"Please confirm the transfer to {IBAN} and write to {MAIL}."


def ask(gateway: Any, content: str = PROMPT, model: str = "assistant", **more: Any) -> Any:
    return gateway.client().chat.completions.with_raw_response.create(
        model=model, messages=[{"role": "user", "content": content}], **more
    )


def code_of(caught: Any) -> str:
    return str(caught.value.body["sovctl"]["reason"])


def ledger_folder(gateway: Any) -> Path:
    return Path(yaml.safe_load(gateway.config.read_text())["ledger"]["directory"])


@contextmanager
def full_disk(gateway: Any) -> Iterator[None]:
    """No file of the gateway may grow beyond the ledger's present size: for the ledger, the disk is full."""
    fill_disk(gateway)
    try:
        yield
    finally:
        free_disk(gateway)


def fill_disk(gateway: Any) -> None:
    size = (ledger_folder(gateway) / "entries").stat().st_size
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def free_disk(gateway: Any) -> None:
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def locked_vault(gateway: Any) -> Iterator[None]:
    database = sqlite3.connect(yaml.safe_load(gateway.config.read_text())["vault"]["path"], isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.close()


def test_without_a_durable_record_nothing_is_sent_and_nothing_answered(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    ask(gateway)
    cloud.forget()
    with full_disk(gateway):
        for model in ("assistant", "inside"):
            for stream in (False, True):
                with pytest.raises(openai.InternalServerError) as caught:
                    ask(gateway, model=model, stream=stream)
                assert (caught.value.status_code, code_of(caught)) == (503, "audit_unavailable")
        status, _, body = gateway.request("GET", "/readyz")
        assert status == 503
        assert "ledger" in json.loads(body)["wrong"] or "vault" in json.loads(body)["wrong"]
    assert not pool.requests
    assert not cloud.requests
    assert ask(gateway).parse().choices[0].message.content == PROMPT  # the disk has room again


def test_an_answer_whose_end_cannot_be_recorded_is_not_given(gateway: Any, pool: EchoUpstream) -> None:
    def fill_and_answer(body: dict[str, Any]) -> dict[str, Any]:
        fill_disk(gateway)
        return {"role": "assistant", "content": body["messages"][-1]["content"]}

    try:
        pool.script.message = fill_and_answer
        with pytest.raises(openai.InternalServerError) as caught:
            ask(gateway, model="inside")
        assert code_of(caught) == "audit_unavailable"
        assert IBAN not in str(caught.value)
        free_disk(gateway)
        with pytest.raises(openai.APIError) as broken:
            list(ask(gateway, model="inside", stream=True).parse())
        assert code_of(broken) == "audit_unavailable"
    finally:
        free_disk(gateway)


def test_with_the_vault_down_nothing_leaves_and_the_pool_answers(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    with locked_vault(gateway):
        answer = ask(gateway)
        assert answer.headers["x-sovctl-route"] == "pool"
        assert answer.parse().choices[0].message.content == PROMPT
        assert "vault" in json.loads(gateway.request("GET", "/readyz")[2])["wrong"]
    assert not cloud.requests
    assert "vault-failed" in gateway.records()[-2]["reasons"]
    assert ask(gateway).headers["x-sovctl-route"] == "cloud"


@pytest.fixture(scope="module")
def without_pool(start: Callable[..., Any], pki: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway whose pool does not answer; its breaker remembers that for a minute."""
    with EchoUpstream(pki.certificate_file, pki.key_file) as gone:
        pass
    return start(pool=gone, down_s=60)


def test_with_the_pool_down_what_must_stay_is_refused_and_never_sent_out(
    without_pool: Any, cloud: EchoUpstream
) -> None:
    for content in ("Dear Mr. Ola Nordmann, hello", "Добрый день"):
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError) as caught:
                ask(without_pool, content, stream=stream)
            assert (caught.value.status_code, code_of(caught)) == (503, "pool_unavailable")
    with locked_vault(without_pool):
        with pytest.raises(openai.InternalServerError) as caught:
            ask(without_pool)
        assert code_of(caught) == "pool_unavailable"
    assert not cloud.requests
    status, _, body = without_pool.request("GET", "/readyz")
    wrong = json.loads(body)["wrong"]
    assert (status, wrong["upstream:chat"]) == (503, "doesn't answer")
    assert wrong["routes"] == "no upstream for inside"


def test_with_the_pool_down_what_may_leave_goes_to_the_cloud(without_pool: Any, cloud: EchoUpstream) -> None:
    answer = ask(without_pool, model="careful")  # prefers the pool
    assert answer.headers["x-sovctl-route"] == "cloud"
    assert answer.parse().choices[0].message.content == PROMPT
    assert IBAN.encode() not in cloud.raw[0]
    for _ in range(3):
        ask(without_pool, model="careful")
    asked = [record for record in without_pool.records() if record["type"] == "gateway.request"][-1]
    assert "down:chat" in asked["reasons"]
    assert asked["upstream"] == "sovereign-cloud"


def test_with_everything_down_the_client_is_told(without_pool: Any, cloud: EchoUpstream) -> None:
    cloud.script.status = 503
    with pytest.raises(openai.InternalServerError) as caught:
        ask(without_pool)
    assert (caught.value.status_code, code_of(caught)) == (502, "upstream_failed")
    last = without_pool.records()[-1]
    assert (last["type"], last["status"], last["reason"]) == ("gateway.answer", 502, "upstream_failed")


def test_an_upstream_that_cannot_prove_who_it_is_gets_nothing(
    start: Callable[..., Any], pki: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    config = yaml.safe_load(start().config.read_text())
    upstreams = config["upstreams"]
    upstreams[1]["ca_file"] = None  # the system's authorities do not know our cloud
    del upstreams[0]["certificate_file"], upstreams[0]["key_file"]  # and the pool wants to know us
    gateway = start(upstreams=upstreams)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(gateway)
    assert code_of(caught) == "upstream_failed"
    assert not pool.requests
    assert not cloud.requests


class _BrokenFinder:
    def find(self, text: str) -> list[Finding]:
        raise KeyError(text)  # an error that carries the text, as a real one might


@contextmanager
def in_process(config: Path, finder: Any) -> Iterator[int]:
    """A gateway in a thread, with a finder of the test's."""
    settings = load_settings(config)
    server = uvicorn.Server(
        uvicorn.Config(
            App(Parts(settings, finder=finder).open),
            host="127.0.0.1",
            port=settings.listen.port,
            ssl_certfile=settings.listen.certificate_file,
            ssl_keyfile=settings.listen.key_file,
            log_config=None,
            lifespan="on",
            ws="none",
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield settings.listen.port
    finally:
        server.should_exit = True
        thread.join(10)


def test_a_detector_that_raises_keeps_everything_on_prem(
    start: Callable[..., Any], pki: Any, pool: EchoUpstream, cloud: EchoUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    gateway = start()
    gateway.stop()
    tls = ssl.create_default_context(cafile=pki.ca_file)
    with (
        in_process(gateway.config, _BrokenFinder()) as port,
        openai.OpenAI(
            api_key="test-key-of-the-branch-application",
            base_url=f"https://127.0.0.1:{port}/v1",
            max_retries=0,
            http_client=openai.DefaultHttpxClient(verify=tls),
        ) as client,
    ):
        messages: Any = [{"role": "user", "content": PROMPT}]
        answer = client.chat.completions.with_raw_response.create(model="assistant", messages=messages)
        assert answer.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert len(pool.requests) == 1
    asked = gateway.records()[-2]
    assert asked["reasons"] == ["detector-failed"]
    assert asked["inspected"] is False
    assert IBAN not in capfd.readouterr().err


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
    assert int(checkpoint.splitlines()[1]) == len(records)


def test_a_client_that_leaves_is_recorded_and_the_upstream_let_go(
    gateway: Any, pool: EchoUpstream, cloud: EchoUpstream
) -> None:
    pool.script.hold = threading.Event()
    stream = ask(gateway, model="inside", stream=True).parse()
    next(iter(stream))
    stream.close()
    deadline = time.monotonic() + 10
    while gateway.records()[-1].get("reason") != "client-left":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pool.script.hold.set()
    assert b"sovctl_gateway_in_flight_requests 0.0\n" in gateway.request("GET", "/metrics")[2]


def test_kill_9_under_load_loses_nothing_that_was_answered(
    start: Callable[..., Any], start_from: Callable[..., Any], cloud: EchoUpstream, tmp_path: Path
) -> None:
    gateway = start()
    answered: list[tuple[str, str]] = []

    def ask_on(lane: int) -> None:
        for number in range(1000):
            content = f"Please write to user{lane}-{number}@example.com about {IBAN}"
            try:
                answer = ask(gateway, content, extra_headers={"x-sovctl-conversation": f"{lane}"})
                assert answer.parse().choices[0].message.content == content
            except openai.APIConnectionError:
                return
            answered.append((answer.headers["x-sovctl-request-id"], f"user{lane}-{number}@example.com"))

    with ThreadPoolExecutor(4) as lanes:
        running = [lanes.submit(ask_on, lane) for lane in range(4)]
        deadline = time.monotonic() + 30
        while len(answered) < 60:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        gateway.process.kill()
        for lane in running:
            lane.result()
    assert gateway.process.wait(10) == -signal.SIGKILL
    recorded: dict[str, set[str]] = {}
    for record in gateway.records():
        recorded.setdefault(record.get("id", ""), set()).add(record["type"])
    assert all(recorded[request_id] == {"gateway.request", "gateway.answer"} for request_id, _ in answered)
    settings = load_settings(gateway.config)
    with Ledger.open(
        settings.ledger.directory, origin=settings.ledger.origin, key=load_or_create(settings.ledger.key_file)
    ) as ledger:  # refuses a ledger that is not what was signed
        assert ledger.size >= len(recorded)
    again = start_from(gateway.config, tmp_path / "log")
    sent = [request["messages"][0]["content"] for request in cloud.requests]
    for lane in range(4):
        mail = [mail for _, mail in answered if mail.startswith(f"user{lane}-")][-1]
        token = next(c.split(" ")[3] for c in reversed(sent) if _is_about(again, cloud, c, lane, mail))
        assert token.startswith("EMAIL_")


def _is_about(gateway: Any, cloud: EchoUpstream, sent: str, lane: int, mail: str) -> bool:
    """True when the token in `sent`, said by the cloud after the restart, is restored to `mail`."""
    token = sent.split(" ")[3]
    cloud.script.message = lambda _: {"role": "assistant", "content": token}
    headers = {"x-sovctl-conversation": f"{lane}"}
    reply = ask(gateway, "What was the address that I told you?", extra_headers=headers)
    return bool(reply.parse().choices[0].message.content == mail)
