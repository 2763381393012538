"""A drained server gets no request and finishes its own; a gateway announces its stop before it refuses connections."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from echo_upstream import EchoUpstream
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from vllm_metrics import metrics
from waiting import until

BODY = b'{"model": "inside", "messages": [{"role": "user", "content": "hello"}]}'
KEY = {"authorization": "Bearer test-key-of-the-branch-application"}
READY_KEY = {"authorization": "Bearer test-key-of-the-monitoring"}


class PoolServer(EchoUpstream):
    """An upstream that reports its running requests like vLLM."""

    running = 0

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("/metrics", self._metrics, methods=["GET"])]

    async def _metrics(self, _request: Request) -> Response:
        return Response(metrics(running=self.running))

    async def _chat(self, request: Request) -> Response:
        self.running += 1
        try:
            return await super()._chat(request)
        finally:
            self.running -= 1


@pytest.fixture(scope="module")
def servers(pki: Any) -> Iterator[list[PoolServer]]:
    with (
        PoolServer(pki.certificate_file, pki.key_file, pki.ca_file) as one,
        PoolServer(pki.certificate_file, pki.key_file, pki.ca_file) as two,
    ):
        yield [one, two]


@pytest.fixture
def config(write_config: Callable[[Path], Path], servers: list[PoolServer], tmp_path: Path) -> Path:
    """Settings of two workers in front of a pool of two servers, which announce their stop for two seconds."""
    path = write_config(tmp_path)
    settings = yaml.safe_load(path.read_text())
    settings["upstreams"][0]["base_urls"] = [each.base_url for each in servers]
    settings["routing"] = {"drained_servers_file": str(tmp_path / "drained.json")}
    settings["limits"] = {"announce_s": 2}
    settings["workers"] = 2
    path.write_text(yaml.safe_dump(settings))
    for each in servers:
        each.forget()
    return path


def command(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_processes.gateway("servers", *arguments, "--config", config)


def ask(gateway: Any, count: int = 12) -> None:
    for _ in range(count):
        assert gateway.request("POST", "/v1/chat/completions", BODY, KEY)[0] == 200


def test_a_drained_server_gets_no_request_until_it_is_undrained(
    config: Path, servers: list[PoolServer], start_from: Callable[..., Any], tmp_path: Path
) -> None:
    gateway = start_from(config, tmp_path / "log")
    one, two = (each.base_url for each in servers)
    listed = json.loads(command(config, "drain", one, "--reason", "driver", "--json").stdout)
    assert listed == [{"url": one, "drained": "driver", "running": 0}, {"url": two, "drained": None}]
    ask(gateway)
    assert (len(servers[0].requests), len(servers[1].requests)) == (0, 12)
    gateway.stop()
    gateway = start_from(config, tmp_path / "log")
    ask(gateway)
    assert not servers[0].requests, "a restart keeps the server drained"
    assert command(config, "undrain", one).stdout.splitlines() == [f"{one}  in use", f"{two}  in use"]
    assert command(config, "drain", two).returncode == 0
    ask(gateway)
    assert len(servers[0].requests) == 12


def test_drain_returns_when_the_running_request_has_finished(
    config: Path, servers: list[PoolServer], start_from: Callable[..., Any], tmp_path: Path
) -> None:
    gateway = start_from(config, tmp_path / "log")
    one, two = servers
    assert command(config, "drain", two.base_url).returncode == 0
    held = one.script.hold_answer = threading.Event()
    statuses: list[int] = []
    asking = threading.Thread(
        target=lambda: statuses.append(gateway.request("POST", "/v1/chat/completions", BODY, KEY)[0])
    )
    asking.start()
    until(lambda: one.running == 1, "the request is running")
    early = command(config, "drain", one.base_url, "--timeout-s", "1", "--json")
    assert json.loads(early.stdout)[0]["running"] == 1
    draining = subprocess.Popen(
        [sys.executable, "-m", "sovctl.gateway", "servers", "drain", one.base_url, "--config", str(config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        draining.wait(3)
    held.set()
    out, _ = draining.communicate(timeout=60)
    asking.join(60)
    assert statuses == [200]
    assert "drained (operator), 0 running" in out
    assert command(config, "undrain", one.base_url, two.base_url).returncode == 0


def test_an_unknown_server_is_refused_with_the_known_ones(config: Path, servers: list[PoolServer]) -> None:
    refused = command(config, "drain", "https://192.0.2.1:8000/v1")
    assert refused.returncode == 3
    assert servers[1].base_url in refused.stderr


def test_a_stopping_gateway_serves_while_it_announces_its_end(
    config: Path, start_from: Callable[..., Any], tmp_path: Path, pki: Any
) -> None:
    gateway = start_from(config, tmp_path / "log")
    until(lambda: gateway.request("GET", "/readyz")[0] == 200, "ready")
    tls = ssl.create_default_context(cafile=pki.ca_file)
    kept = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=tls, timeout=60)
    kept.request("GET", "/healthz")
    assert kept.getresponse().read() is not None
    started = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    until(lambda: gateway.request("GET", "/readyz", None, READY_KEY)[0] == 503, "not ready")
    kept.request("POST", "/v1/chat/completions", BODY, KEY)
    answer = kept.getresponse()
    assert answer.status == 200
    assert answer.headers["connection"] == "close"
    ask(gateway, 2)
    gateway.process.wait(60)
    assert time.monotonic() - started >= 2
    with pytest.raises(ConnectionRefusedError):
        gateway.request("GET", "/healthz")
