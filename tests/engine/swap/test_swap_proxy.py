"""The proxy of a swap group: real nginx in front of stand-in engines and a real agent."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from loopback_ports import unused_port
from swap_agent import Group, group
from waiting import until

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.checks.definitions.pool.development_routes_closed import ALWAYS_ROUTED, DEVELOPMENT
from sovctl.engine.resources.context import render
from sovctl.engine.resources.serving.swap import FREE_ROUTES, HELD_ROUTES

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: the proxy was not run")


@dataclass
class Proxy:
    """nginx in front of a group."""

    made: Group
    ports: dict[str, int]
    authority: Authority
    identity: tuple[str, str]

    def connection(self, pool: str) -> http.client.HTTPSConnection:
        tls = ssl.create_default_context(cafile=str(self.authority.certificate_file))
        tls.load_cert_chain(*self.identity)
        return http.client.HTTPSConnection("127.0.0.1", self.ports[pool], timeout=60, context=tls)

    def ask(self, pool: str, method: str, target: str, body: str | None = None) -> tuple[int, dict[str, str]]:
        with closing(self.connection(pool)) as connection:
            connection.putrequest(method, target)
            connection.putheader("content-length", str(len(body or "")))
            connection.endheaders((body or "").encode())
            response = connection.getresponse()
            response.read()
        return response.status, dict(response.getheaders())

    def chat(self, pool: str, text: str) -> tuple[int, dict[str, str]]:
        body = json.dumps({"model": pool, "messages": [{"role": "user", "content": text}]})
        return self.ask(pool, "POST", "/v1/chat/completions", body)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    authority = Authority(folder / "pki", "test")
    certificate, key = authority.issue("node", IPv4Address("127.0.0.1"), now=datetime.now(UTC))
    tls = folder / "tls"
    tls.mkdir()
    for source, name in ((certificate, "node.pem"), (key, "node.key"), (authority.certificate_file, "ca.pem")):
        (tls / name).write_bytes(Path(source).read_bytes())
    ports = {pool: unused_port() for pool in ("chat", "code")}
    settings = {
        "run": str(folder / "nginx"),
        "folder": str(folder / "group" / "run"),
        "address": "127.0.0.1",
        "tls": str(tls),
        "held_routes": list(HELD_ROUTES),
        "free_routes": list(FREE_ROUTES),
        "pools": [
            {"name": pool, "port": port, "socket": str(folder / "group" / f"{pool}.sock")}
            for pool, port in ports.items()
        ],
    }
    (folder / "nginx").mkdir()
    (folder / "group").mkdir()
    config = folder / "proxy.conf"
    config.write_text(render("swap_group", "proxy.conf.j2", proxy=settings))
    with group(folder / "group", "chat", "code", hold_s=20) as made, (folder / "nginx.txt").open("wb") as errors:
        process = subprocess.Popen(
            [str(NGINX), "-e", "stderr", "-c", str(config), "-g", "master_process off;"], stderr=errors
        )
        made_proxy = Proxy(made, ports, authority, (str(certificate), str(key)))
        try:
            made.until_awake("chat")
            until(lambda: made_proxy.ask("chat", "GET", "/health")[0] == 200, "the proxy")
            yield made_proxy
        finally:
            process.terminate()
            process.wait(timeout=20)


def test_a_request_for_a_sleeping_pool_waits_for_its_turn_with_its_text(proxy: Proxy) -> None:
    for pool, text in (("chat", "one"), ("code", "two"), ("chat", "x" * 2_000_000), ("code", "four")):
        assert proxy.chat(pool, text)[0] == 200
        assert proxy.made.log("answer")[-1]["value"] == text
        proxy.made.until_awake(pool)


@pytest.mark.parametrize("route", sorted({*DEVELOPMENT, *ALWAYS_ROUTED}))
def test_a_route_of_development_does_not_pass(proxy: Proxy, route: str) -> None:
    for method in ("GET", "POST"):
        assert proxy.ask("chat", method, route)[0] == 404


def test_no_spelling_of_a_route_passes(proxy: Proxy) -> None:
    for target in (
        "/v1/../collective_rpc",
        "/v1/models/../../collective_rpc",
        "//collective_rpc",
        "/%63ollective_rpc",
        "/v1/models/%2e%2e/%2e%2e/collective_rpc",
        "/collective_rpc?/v1/chat/completions",
        "/collective_rpc#/../v1/chat/completions",
        "/collective_rpc;/v1/chat/completions",
        "/v1/load_lora_adapter",
        "/held/chat",
    ):
        assert proxy.ask("chat", "POST", target, "{}")[0] in (400, 404), target
    # The engine gets the served route, whatever the spelling was.
    assert proxy.ask("chat", "GET", "/collective_rpc/../v1/models")[0] == 200


def test_without_a_certificate_of_the_site_the_connection_is_closed(proxy: Proxy, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "another")
    foreign = other.issue("node", IPv4Address("127.0.0.1"), now=datetime.now(UTC))
    for identity in (None, foreign):
        tls = ssl.create_default_context(cafile=str(proxy.authority.certificate_file))
        if identity is not None:
            tls.load_cert_chain(*identity)
        connection = http.client.HTTPSConnection("127.0.0.1", proxy.ports["chat"], timeout=20, context=tls)
        with pytest.raises((OSError, http.client.HTTPException)):
            _health(connection)
    with pytest.raises((OSError, http.client.HTTPException)):
        _health(http.client.HTTPConnection("127.0.0.1", proxy.ports["chat"], timeout=20))


def _health(connection: http.client.HTTPConnection) -> None:
    with closing(connection):
        connection.request("GET", "/health")
        connection.getresponse()


def test_without_an_agent_the_awake_pool_serves_and_the_other_gets_503(proxy: Proxy) -> None:
    assert proxy.chat("chat", "before")[0] == 200
    proxy.made.kill()
    try:
        assert proxy.chat("chat", "after")[0] == 200
        status, headers = proxy.chat("code", "refused")
        assert (status, headers.get("Retry-After")) == (503, "5")
        assert [proxy.ask("code", "GET", path)[0] for path in ("/health", "/metrics", "/v1/models")] == [200] * 3
    finally:
        proxy.made.start()
    until(lambda: proxy.chat("code", "again")[0] == 200, "an answer after the agent's start")
