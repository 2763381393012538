"""Several workers behind one port: one ledger, a death that nobody loses anything by, an orderly end."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from loopback_ports import unused_port
from waiting import until

PROMPT = "Please write to anna@example.com today"


def ask(gateway: Any, content: str = PROMPT, model: str = "assistant", **more: Any) -> Any:
    return gateway.client().chat.completions.with_raw_response.create(
        model=model, messages=[{"role": "user", "content": content}], **more
    )


def ask_afresh(gateway: Any, number: int) -> str:
    """Ask over a connection of its own, so that the kernel spreads them over the workers; the request's id."""
    body = b'{"model": "assistant", "messages": [{"role": "user", "content": "to user%d@example.com"}]}' % number
    key = {"authorization": "Bearer test-key-of-the-branch-application"}
    status, headers, said = gateway.request("POST", "/v1/chat/completions", body, key)
    assert status == 200, said
    assert b"user%d@example.com" % number in said
    return str(headers["x-sovctl-request-id"])


def workers_of(gateway: Any) -> list[int]:
    children = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text()
    return [int(pid) for pid in children.split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_all_workers_serve_and_share_one_ledger(start: Callable[..., Any], cloud: EchoUpstream) -> None:
    gateway = start(workers=2)
    until(lambda: len(workers_of(gateway)) == 2, "both workers")
    with ThreadPoolExecutor(4) as lanes:
        answered = list(lanes.map(lambda number: ask_afresh(gateway, number), range(40)))
    assert gateway.stop() in (0, -signal.SIGTERM)
    records = gateway.records()
    assert records[0]["type"] == "gateway.start"
    assert records[0]["workers"] == 2
    assert {r["id"] for r in records if r["type"] == "gateway.answer"} == set(answered)
    assert sum(1 for r in records if r["type"] == "gateway.start") == 1


def test_a_worker_that_dies_is_replaced_and_nothing_answered_is_lost(
    start: Callable[..., Any], cloud: EchoUpstream
) -> None:
    gateway = start(workers=2)
    before = workers_of(gateway)
    answered: list[str] = []
    stop = threading.Event()

    def ask_on() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                answered.append(ask_afresh(gateway, len(answered)))

    with ThreadPoolExecutor(2) as lanes:
        for _ in range(2):
            lanes.submit(ask_on)
        try:
            until(lambda: len(answered) >= 10, "some are answered")
            os.kill(before[0], signal.SIGKILL)
            until(
                lambda: len(workers_of(gateway)) == 2 and before[0] not in workers_of(gateway), "another in its place"
            )
            count = len(answered)
            until(lambda: len(answered) >= count + 10, "more are answered")
        finally:
            stop.set()
    gateway.stop()
    assert set(answered) <= {r["id"] for r in gateway.records() if r["type"] == "gateway.answer"}
    assert '"event": "worker ended"' in gateway.log()


def test_workers_finish_their_answers_when_told_to_stop(start: Callable[..., Any], pool: EchoUpstream) -> None:
    gateway = start(workers=2)
    pool.script.hold = threading.Event()
    stream = ask(gateway, model="inside", stream=True).parse()
    first = next(stream)
    gateway.process.send_signal(signal.SIGTERM)
    threading.Timer(0.5, pool.script.hold.set).start()
    assert "".join(c.delta.content or "" for chunk in (first, *stream) for c in chunk.choices) == PROMPT
    assert gateway.stop() == 0
    assert gateway.records()[-1]["reason"] == "answered"


def test_an_idle_client_that_does_not_listen_holds_up_no_end(start: Callable[..., Any]) -> None:
    gateway = start(limits={"drain_s": 600})
    with (
        socket.create_connection(("127.0.0.1", gateway.port)) as plain,
        gateway.tls.wrap_socket(plain, server_hostname="127.0.0.1"),  # it never reads the end of TLS
    ):
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(20) in (0, -signal.SIGTERM), "uvloop alone waits 30 s"


def test_new_connections_are_refused_during_shutdown(start: Callable[..., Any], pool: EchoUpstream) -> None:
    gateway = start(workers=2)
    pool.script.hold = threading.Event()
    stream = ask(gateway, model="inside", stream=True).parse()
    first = next(stream)
    gateway.process.send_signal(signal.SIGTERM)

    def is_refused() -> bool:
        try:
            socket.create_connection(("127.0.0.1", gateway.port)).close()
        except ConnectionRefusedError:
            return True
        return False

    until(is_refused, "connections are refused")
    assert gateway.process.poll() is None
    pool.script.hold.set()
    assert "".join(c.delta.content or "" for chunk in (first, *stream) for c in chunk.choices) == PROMPT


def test_workers_end_when_the_process_that_writes_the_ledger_is_killed(start: Callable[..., Any]) -> None:
    gateway = start(workers=2)
    workers = workers_of(gateway)
    gateway.process.kill()
    gateway.process.wait(60)
    until(lambda: not any(map(is_alive, workers)), "both workers are gone")


def test_workers_that_cannot_start_end_the_gateway(
    write_config: Callable[[Path], Path], start_from: Callable[..., Any], tmp_path: Path
) -> None:
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("workers: 1", "workers: 2"))
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/vault.db").write_text("this is no vault, and long enough to be seen as none" * 100)
    (tmp_path / "vault/vault.db").chmod(0o600)
    gateway = start_from(config, tmp_path / "log", wait=False)
    assert gateway.process.wait(60) == 3
    assert "the vault cannot be opened" in gateway.log()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_that_is_taken_is_said(
    workers: int, gateway: Any, write_config: Callable[[Path], Path], start_from: Callable[..., Any], tmp_path: Path
) -> None:
    config = write_config(tmp_path)
    text = config.read_text().replace("workers: 1", f"workers: {workers}")
    own_port = next(line for line in text.splitlines() if line.strip().startswith("port:")).split()[-1]
    config.write_text(text.replace(f"port: {own_port}", f"port: {gateway.port}", 1))
    second = start_from(config, tmp_path / "log", wait=False)
    assert second.process.wait(60) == 3
    assert "is taken by another program" in second.log()
    assert "serving" not in second.log()


_TWO_LIVES = """
import asyncio, os, sys, time
from pathlib import Path
from types import SimpleNamespace
from sovctl.compliance.signing import load_or_create
from sovctl.compliance.ledger.line import LineSender
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.upkeep import Upkeep
from sovctl.gateway.settings import Listen
from sovctl.gateway.runtime.supervisor import Supervisor

hears, told = os.pipe()

def first_life(_listening, end):
    end.send(b"A" + (2).to_bytes(4) + b"{}")

def second_life(_listening, end):
    async def work():
        recorded = LineSender(end).append_encoded(b"{}")
        await asyncio.sleep(0)  # it is on its way
        await asyncio.sleep(0)
        os.write(told, b"s")
        os.write(told, b"%d" % await recorded)
    asyncio.run(work())

folder = Path(sys.argv[1])
settings = SimpleNamespace(listen=Listen(host="127.0.0.1", port=int(sys.argv[2])), workers=1)
with Ledger.open(folder / "ledger", origin="sovctl.lab/gateway", key=load_or_create(folder / "key")) as ledger:
    upkeep = Upkeep(ledger, heartbeat={"type": "gateway.heartbeat"}, interval_s=0)
    supervisor = Supervisor(settings, ledger, first_life, upkeep)
    place, = supervisor._places
    supervisor._start(place)
    os.waitid(os.P_PID, place.pid, os.WEXITED | os.WNOWAIT)
    supervisor._reap()
    supervisor._run_worker = second_life
    supervisor._start(place)
    assert os.read(hears, 1) == b"s"
    supervisor._writer.answer([place.writer_end])
    print(int(os.read(hears, 9)), ledger.size)
"""


def test_restarted_worker_ignores_replies_to_its_predecessor(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _TWO_LIVES, str(tmp_path), str(unused_port())]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (told.stdout.split(), told.returncode) == (["1", "2"], 0), told.stderr
