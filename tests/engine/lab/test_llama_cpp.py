"""llama.cpp and its TLS proxy as a pool has them: packages of the lock, rendered settings, real processes."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from strategies import context

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.lab.artifacts import engine_packages, model_store
from sovctl.engine.plan.build import desired_on
from sovctl.engine.resources.context import ROLES, render
from sovctl.engine.resources.serving.command_line import given_flags, planned_flags
from sovctl.gateway.upstream.load import load_of

pytestmark = pytest.mark.lab

TEXT = "Please send <IBAN_3> and the report of <PERSON_12> to the branch manager by friday, EUR 1,234.56."
READY_S = 30.0


@dataclass
class Server:
    """A running server with its proxy."""

    folder: Path
    port: int
    pid: int
    planned: tuple[str, ...]

    def request(self, path: str, body: dict[str, Any] | None = None, *, node: str = "s1") -> tuple[int, bytes]:
        """Return status and body of a request with the certificate of a node; without one if `node` is empty."""
        trusted = ssl.create_default_context(cafile=str(self.folder / "tls" / "ca.pem"))
        if node:
            trusted.load_cert_chain(self.folder / "tls" / f"{node}.pem", self.folder / "tls" / f"{node}.key")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=trusted)
        try:
            connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="sovctl-") as name:  # short: the path of a Unix socket has 107 bytes
        folder = Path(name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        site = context("llama-cpp")
        desired = next(each for each in desired_on(site, site.spec.node("n1"), None) if each.kind == "pool")
        paths = {
            "/opt/sovctl/llama.cpp": f"{folder}/root",
            "/srv/sovctl/models/echo-gguf": str(model_store.ECHO_GGUF),
            "/run/sovctl-pool-chat": f"{folder}/run",
            "/run/sovctl-proxy-chat": f"{folder}/proxy",
            "/etc/sovctl/tls/node": f"{folder}/tls/n1",
            "/etc/sovctl/tls": f"{folder}/tls",
            "/etc/sovctl/pools": str(folder),
            "/usr/local/lib/sovctl": str(ROLES / "pool" / "files"),
            "10.77.0.11:8000": f"127.0.0.1:{port}",
        }

        def here(text: str) -> str:
            for path, other in paths.items():
                text = text.replace(path, other)
            return text

        for each in ("root", "run", "proxy"):
            (folder / each).mkdir()
        _unpack(folder / "root")
        _issue(folder / "tls")
        item = {"name": desired.name, **desired.variables}
        for template, file in (("pool.yaml.j2", "chat.yaml"), ("nginx.conf.j2", "chat.nginx.conf")):
            (folder / file).write_text(here(render("pool", template, item=item)))
        units = {each: here(render("pool", f"{each}.service.j2", item=item)) for each in ("unit", "proxy")}
        environment = {**os.environ, **desired.variables["environment"]}
        working_folder = here(desired.variables["engine"]["working_folder"])
        command = [sys.executable, *_command(units["unit"])]
        # As root, nginx would otherwise change to a user that cannot open the socket. On a node it is not root.
        proxy = [word.replace("daemon off;", "daemon off; user root;") for word in _command(units["proxy"])]
        with (folder / "log").open("wb") as log:
            started = [
                subprocess.Popen(command, cwd=working_folder, env=environment, stdout=log, stderr=log),
                subprocess.Popen(proxy, stdout=log, stderr=log),
            ]
            try:
                flags = {key: here(value) if isinstance(value, str) else value for key, value in item["flags"].items()}
                found = Server(folder, port, started[0].pid, planned_flags(flags, site.engine))
                _wait(found, started)
                yield found
            finally:
                for process in started:
                    process.terminate()
                for process in started:
                    process.wait(timeout=20)


def _unpack(root: Path) -> None:
    packages = engine_packages.ensure_packages(mirror_uri=None, progress=lambda _: None)
    (root / "lock.txt").write_bytes(engine_packages.LOCK.read_bytes())
    program = ROLES / "environment" / "files" / "unpack_packages"
    subprocess.run([sys.executable, program, root, f"{packages.as_uri()}/"], check=True)


def _issue(folder: Path) -> None:
    authority = Authority(folder, "llama-cpp")
    for node in ("n1", "s1", "n2"):
        authority.issue(node, IPv4Address("127.0.0.1"), now=datetime.now(UTC))


def _command(unit: str) -> list[str]:
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    return shlex.split(line.removeprefix("ExecStart="))


def _wait(server: Server, started: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and all(process.poll() is None for process in started):
        try:
            if server.request("/health")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    pytest.fail((server.folder / "log").read_text()[-2000:])


def chat(server: Server) -> dict[str, Any]:
    messages = [{"role": "user", "content": TEXT}]
    status, body = server.request(
        "/v1/chat/completions", {"model": "echo-gguf", "messages": messages, "temperature": 0}
    )
    assert status == 200
    return dict(json.loads(body))


def test_repeats_every_byte_and_caches_no_prompt(server: Server) -> None:
    for _ in range(2):
        answer = chat(server)
        assert answer["choices"][0]["message"]["content"] == TEXT
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert "branch manager" not in (server.folder / "log").read_text()


_MESSAGES = [{"role": "user", "content": TEXT}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat.completions": ("/v1/chat/completions", {"messages": _MESSAGES, "temperature": 0}),
    "completions": ("/v1/completions", {"prompt": "x", "max_tokens": 2}),
    "responses": ("/v1/responses", {"input": TEXT, "temperature": 0, "max_output_tokens": 120}),
    "messages": ("/v1/messages", {"messages": _MESSAGES, "temperature": 0, "max_tokens": 120}),
}
"""Path and body by client API."""


def test_serves_the_client_apis_that_the_gateway_offers(server: Server) -> None:
    assert set(REQUESTS) == set(context("llama-cpp").engine.surfaces["chat"])
    for name, (path, body) in REQUESTS.items():
        status, answer = server.request(path, {"model": "echo-gguf", **body})
        assert status == 200, (name, answer)
        assert name == "completions" or "<PERSON_12> to the branch manager" in answer.decode(), name


def test_the_gateway_reads_its_load(server: Server) -> None:
    status, metrics = server.request("/metrics")
    found = load_of(metrics, now_s=1.0, in_flight=0)
    assert status == 200
    assert found is not None
    assert (found.waiting, found.running) == (0, 0)
    assert b"llamacpp:n_decode_total" in metrics


def test_the_process_has_the_planned_flags(server: Server) -> None:
    argv = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")[:-1]
    marked = ["/opt/sovctl/llama.cpp/usr/bin/llama-server" if word.endswith("/llama-server") else word for word in argv]
    assert given_flags(marked, context("llama-cpp").engine) == server.planned


@pytest.mark.parametrize(
    "path", ["/slots", "/props", "/completion", "/tokenize", "/", "/v1/../slots", "/v1/%2e%2e/slots"]
)
def test_other_paths_are_unknown(server: Server, path: str) -> None:
    assert server.request(path)[0] == 404


@pytest.mark.parametrize("node", ["", "n2"])
def test_other_clients_get_no_answer(server: Server, node: str) -> None:
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
        server.request("/health", node=node)


def test_plain_http_gets_no_answer(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/health")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        connection.getresponse()
    connection.close()
