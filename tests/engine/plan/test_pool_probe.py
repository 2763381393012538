"""The probe of a pool against a real server with mutual TLS on loopback; systemctl is a script."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from waiting import until

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.resources.context import ROLES
from sovctl.engine.resources.serving.probe_request import REQUESTS

PROBE = ROLES / "pool" / "files" / "probe"
HERE = IPv4Address("127.0.0.1")
COMPLETION = json.dumps({"choices": [{"message": {"content": "ping"}}]}).encode()
PRIVATE = "text of the server that nobody shall see"
UNIT = "sovctl-pool-chat"


@dataclass
class Pool:
    """What the server does next, and what it was asked."""

    port: int = 0
    status: int = 200
    body: bytes = COMPLETION
    hangs: threading.Event = field(default_factory=threading.Event)
    asked: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "pki", "test")
    made.issue("here", HERE, now=datetime.now(UTC))
    return made


@pytest.fixture
def pool(authority: Authority) -> Iterator[Pool]:
    state = Pool()
    state.hangs.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.paths.append(self.path)
            state.asked.append(self.rfile.read(int(self.headers["content-length"])))
            state.hangs.wait(20)
            self.send_response(state.status)
            self.send_header("content-length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that went away, or one without a certificate

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate_file))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(authority.folder / "here.pem", authority.folder / "here.key")
    server = Server((str(HERE), 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield state
    state.hangs.set()
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Node:
    """A node's corner of a file system, with a systemctl that says what the test wrote and notes what it is told."""

    folder: Path
    authority: Authority
    pool: Pool

    def config(self, *, timeout_s: float = 20, certificate: str = "here", task: str = "chat") -> Path:
        path = self.folder / "chat.probe.json"
        pki = self.authority.folder
        values = {
            "url": f"https://{HERE}:{self.pool.port}/v1",
            "model": "echo",
            "request": REQUESTS[task],
            "ca_file": str(self.authority.certificate_file),
            "certificate_file": str(pki / f"{certificate}.pem"),
            "key_file": str(pki / f"{certificate}.key"),
            "timeout_s": timeout_s,
        }
        path.write_text(json.dumps(values))
        return path

    def say(self, name: str, value: str) -> None:
        """What systemctl says of one property from now on, to whoever asks meanwhile too."""
        beside = self.folder / f"{name}.new"
        beside.write_text(f"{value}\n")
        beside.replace(self.folder / name)

    def unit(self, *, active: str = "active", started_s: float = 0) -> None:
        """What systemctl says from now on."""
        properties = {"ActiveState": active, "ActiveEnterTimestamp": f"@{int(started_s)}", "NRestarts": "0"}
        for name, value in properties.items():
            self.say(name, value)
        script = self.folder / "bin" / "systemctl"
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f'#!/bin/sh\nif [ "$1" = show ]; then cat "{self.folder}/$4"; else echo "$@" >> "{self.folder}/told"; fi\n'
        )
        script.chmod(0o755)

    def told(self) -> list[str]:
        path = self.folder / "told"
        return path.read_text().splitlines() if path.exists() else []

    def run(self, *options: str, config: Path | None = None) -> tuple[int, dict[str, object]]:
        environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "RUNTIME_DIRECTORY": str(self.folder),
        }
        command = [sys.executable, "-I", str(PROBE), "--config", str(config or self.config()), *options]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
        assert PRIVATE not in done.stdout + done.stderr
        assert not done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)

    def watch(self, *, grace_s: int = 900) -> dict[str, object]:
        options = ("--unit", UNIT, "--grace", str(grace_s), "--restart-after", "3")
        return self.run(*options)[1]


@pytest.fixture
def node(tmp_path: Path, authority: Authority, pool: Pool) -> Node:
    made = Node(tmp_path, authority, pool)
    made.unit()
    return made


def test_a_completion_is_an_answer_with_its_time(node: Node) -> None:
    code, result = node.run()
    assert (code, result["ok"]) == (0, True)
    assert isinstance(result["latency_ms"], int)
    assert json.loads(node.pool.asked[0])["max_tokens"] == 2


@pytest.mark.parametrize(
    ("task", "path", "sent", "answer"),
    [
        ("chat", "/v1/chat/completions", b'"messages"', {"choices": [{}]}),
        ("embedding", "/v1/embeddings", b'"input": "ping"', {"data": [{"embedding": [0.1]}]}),
        ("reranker", "/v1/rerank", b'"documents": ["ping"]', {"results": [{"index": 0}]}),
        ("asr", "/v1/audio/transcriptions", b"RIFF", {"text": ""}),
    ],
)
def test_every_task_gets_a_request_of_its_own(
    node: Node, task: str, path: str, sent: bytes, answer: dict[str, object]
) -> None:
    node.pool.body = json.dumps(answer).encode()
    assert node.run(config=node.config(task=task))[0] == 0
    assert (node.pool.paths, sent in node.pool.asked[0], b"echo" in node.pool.asked[0]) == ([path], True, True)
    node.pool.body = b'{"error": "another task"}'
    assert node.run(config=node.config(task=task))[0] == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, PRIVATE.encode()),
        (500, json.dumps({"choices": [1], "error": PRIVATE}).encode()),
        (200, PRIVATE.encode()),
        (200, b'{"choices": []}'),
        (200, b"[1, 2]"),
        (200, b"\xff\xfe"),
        (503, b"{}"),
    ],
)
def test_anything_but_a_completion_is_a_failure_that_quotes_nothing(node: Node, status: int, body: bytes) -> None:
    node.pool.status, node.pool.body = status, body
    code, result = node.run()
    assert (code, result["ok"]) == (1, False)
    assert result["error"]


def test_a_server_that_hangs_is_a_failure_in_time(node: Node) -> None:
    node.pool.hangs.clear()
    code, result = node.run(config=node.config(timeout_s=1))
    assert (code, result["ok"]) == (1, False)
    assert "TimeoutError" in str(result["error"])


def test_a_server_of_another_authority_is_a_failure(node: Node, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "another")
    other.issue("here", HERE, now=datetime.now(UTC))
    values = json.loads(node.config().read_text()) | {"ca_file": str(other.certificate_file)}
    path = tmp_path / "other.json"
    path.write_text(json.dumps(values))
    code, result = node.run(config=path)
    assert (code, result["ok"]) == (1, False)
    assert "CERTIFICATE_VERIFY_FAILED" in str(result["error"])


def test_a_probe_with_a_foreign_certificate_is_refused_by_the_pool(node: Node, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "another")
    certificate, key = other.issue("here", HERE, now=datetime.now(UTC))
    values = json.loads(node.config().read_text()) | {"certificate_file": str(certificate), "key_file": str(key)}
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(values))
    assert node.run(config=path)[0] == 1
    assert node.pool.asked == []


def test_three_failures_in_a_row_start_the_unit_again_and_only_then(node: Node) -> None:
    node.pool.status = 500
    assert ["action" in node.watch() for _ in range(5)] == [False, False, True, False, False]
    # A hung server would take its whole stop timeout: it is killed, then started.
    assert node.told() == [f"kill --signal=SIGKILL {UNIT}", f"restart --no-block {UNIT}"]


def test_a_rank_of_a_group_is_killed_after_three_failures_of_the_last_six(node: Node) -> None:
    options = ("--unit", UNIT, "--restart-after", "3", "--of", "6", "--kill-only")
    actions = []
    for status in (500, 200, 500, 200, 200, 200, 500, 500):  # the first is not among the last six
        node.pool.status = status
        actions.append(node.run(*options)[1].get("action"))
    assert actions == [None] * 7 + ["killed"]
    assert node.told() == [f"kill --signal=SIGKILL {UNIT}"], "its agent starts it"


def test_one_answer_between_failures_starts_the_count_again(node: Node) -> None:
    for status in (500, 500, 200, 500, 500):
        node.pool.status = status
        node.watch()
    assert node.told() == []


def test_failures_while_it_loads_do_not_count_but_after_its_first_answer_they_do(node: Node) -> None:
    node.unit(started_s=time.time())
    node.pool.status = 500
    for _ in range(4):
        node.watch()
    assert node.told() == []
    node.pool.status = 200
    node.watch()
    node.pool.status = 500
    for _ in range(3):
        node.watch()
    assert [each.split()[0] for each in node.told()] == ["kill", "restart"]


@pytest.mark.parametrize("active", ["inactive", "failed", "activating", "deactivating"])
def test_a_unit_that_somebody_stopped_stays_stopped(node: Node, active: str) -> None:
    node.unit(active=active)
    node.pool.status = 500
    results = [node.watch() for _ in range(4)]
    assert node.told() == []
    assert all("not active" in str(result["action"]) for result in results)


def test_a_torn_counter_counts_from_nothing(node: Node) -> None:
    (node.folder / f"{UNIT}.failures").write_text("")
    node.pool.status = 500
    for _ in range(3):
        node.watch()
    assert [each.split()[0] for each in node.told()] == ["kill", "restart"]


def test_waiting_ends_with_the_first_answer(node: Node) -> None:
    node.pool.hangs.clear()
    threading.Timer(1.5, node.pool.hangs.set).start()
    code, result = node.run("--unit", UNIT, "--wait", "30", config=node.config(timeout_s=1))
    assert (code, result["ok"]) == (0, True)


def test_waiting_ends_when_its_time_is_over(node: Node) -> None:
    node.pool.status = 500
    assert node.run("--unit", UNIT, "--wait", "0.1")[0] == 1


def test_waiting_ends_when_the_server_keeps_ending(node: Node) -> None:
    node.pool.status = 500

    def end_it_twice() -> None:
        until(lambda: node.pool.asked, "it has looked at the unit, and asked")
        node.say("NRestarts", "2")

    ending = threading.Thread(target=end_it_twice)
    ending.start()
    started = time.monotonic()
    code, result = node.run("--unit", UNIT, "--wait", "300")
    ending.join()
    assert code == 1
    assert "keeps ending" in str(result["error"])
    assert time.monotonic() - started < 200  # long before the wait is over, on a busy machine too
