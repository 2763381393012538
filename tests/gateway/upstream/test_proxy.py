"""Tunnels through an HTTP proxy: one cause for each answer, and the TLS of a direct connection in them."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from connect_proxy import OPENED, ConnectProxy
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from raw_server import RawServer, ok

from sovctl.gateway.domain.errors import NOT_SENT, UpstreamFailed
from sovctl.gateway.settings import Limits, UpstreamKind, UpstreamSettings, VertexSettings
from sovctl.gateway.upstream import Attempts, Upstream
from sovctl.gateway.upstream.credentials.service_account import ServiceAccount
from sovctl.gateway.upstream.proxy import Proxy
from sovctl.support.errors import InputError

BODY = b'{"model": "m"}'
USER, PASSWORD = "gateway", "correct horse: battery"


def server_tls(pki: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pki.certificate_file, pki.key_file)
    return context


@pytest.fixture(params=["plain", "tls"])
def tls(request: pytest.FixtureRequest, pki: Any) -> ssl.SSLContext | None:
    """TLS of the proxy itself."""
    return server_tls(pki) if request.param == "tls" else None


@pytest.fixture
def run() -> Iterator[Callable[[Any], Any]]:
    """Runs a coroutine on the event loop of the gateway; asyncio's own cannot abort TLS in TLS (Python 3.11.2)."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner.run


@asynccontextmanager
async def upstream_behind(pki: Any, proxy: ConnectProxy, folder: Path, *ports: int, **proxied: Any) -> Any:
    (folder / "password").write_text(proxied.pop("password", PASSWORD))
    (folder / "password").chmod(0o600)
    settings = {"url": proxy.url, "user": USER, "password_file": folder / "password", **proxied}
    if proxy.tls is not None:
        settings.setdefault("ca_file", pki.ca_file)
    timeout_s = settings.pop("connect_timeout_s", 20)
    made = UpstreamSettings.model_validate(
        {
            "name": "u",
            "kind": UpstreamKind.CLOUD,
            "base_urls": [f"https://127.0.0.1:{port}/v1" for port in ports],
            "model": "m",
            "ca_file": pki.ca_file,
            "connect_timeout_s": timeout_s,
            "proxy": settings,
        }
    )
    async with Upstream(made, Limits()) as upstream:
        upstream._random.randrange = lambda _: 0
        yield upstream


async def ask(upstream: Upstream) -> tuple[str, list[str]]:
    attempts = Attempts()
    try:
        answer = await upstream.post("x", BODY, is_stream=False, attempts=attempts)
        try:
            return (await answer.read(at_most=1 << 20)).decode(), attempts.words()
        finally:
            answer.release()
    except UpstreamFailed as error:
        return error.cause, attempts.words()


def test_requests_pass_encrypted_and_reuse_the_tunnel(
    run: Callable[[Any], Any], pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    async def served() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(tls, f"{USER}:{PASSWORD}") as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    for _ in range(4):
                        assert await ask(upstream) == ("{}", ["u/0:200"])
                assert [head.split(b"\r\n")[0] for head in proxy.requests] == [
                    b"CONNECT 127.0.0.1:%d HTTP/1.1" % server.port
                ]
            assert server.connections == 1
            assert all(b"roxy" not in request for request in server.requests)
            assert proxy.tunnelled
            assert BODY not in proxy.tunnelled
            assert b"POST" not in proxy.tunnelled

    run(served())


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"HTTP/1.1 407 x\r\n\r\n", "proxy-407"),
        (b"HTTP/1.1 403 Forbidden\r\ncontent-length: 3\r\n\r\nno!", "proxy-refused"),
        (b"HTTP/1.1 503 x\r\n\r\n", "proxy-refused"),
        (b"HTTP/1.1 302 x\r\nlocation: http://127.0.0.1/\r\n\r\n", "proxy-refused"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "proxy-protocol"),
        (b"HTTP/1.1 200 OK\nx: y\n\n" + b"\r\n\r\n", "proxy-protocol"),
        (b"HTTP/2 200\r\n\r\n", "proxy-protocol"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "proxy-protocol"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 20_000 + b"\r\n\r\n", "proxy-protocol"),
        (b"HTTP/1.1 403 x\r\nx: " + b"y" * 20_000, "proxy-protocol"),
        (OPENED + b"\x16\x03\x03", "proxy-protocol"),
        (OPENED + b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", "proxy-protocol"),
        (b"", "proxy-closed"),
        (b"HTTP/1.1 4", "proxy-closed"),
    ],
)
def test_each_answer_of_a_proxy_has_one_cause(
    pki: Any, tls: ssl.SSLContext | None, tmp_path: Path, answer: bytes, cause: str
) -> None:
    async def refused() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(tls, answer=answer, opens=False) as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    assert await ask(upstream) == (cause, [f"u/0:{cause}"])
            assert server.requests == []
        assert cause in NOT_SENT

    asyncio.run(refused())


def test_interim_answers_are_skipped(run: Callable[[Any], Any], pki: Any, tmp_path: Path) -> None:
    async def served() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(answer=b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 x\r\n\r\n") as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    assert await ask(upstream) == ("{}", ["u/0:200"])

    run(served())


def test_a_wrong_password_is_named_for_the_operator(pki: Any, tls: ssl.SSLContext | None, tmp_path: Path) -> None:
    async def refused() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(tls, f"{USER}:{PASSWORD}") as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port, password="wrong") as upstream:
                    assert await ask(upstream) == ("proxy-407", ["u/0:proxy-407"])
                    assert upstream.refusal == "its proxy rejects the user and password of the gateway: proxy-407"
                    assert await upstream.models_problem() == upstream.refusal
                    assert "wrong" not in repr(upstream.servers[0].address)

    asyncio.run(refused())


def test_a_proxy_that_answers_slowly_or_never_ends_at_the_connect_timeout(
    pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    async def timed_out() -> None:
        with ConnectProxy(tls, hold=threading.Event()) as proxy:
            async with upstream_behind(pki, proxy, tmp_path, 9, connect_timeout_s=0.3) as upstream:
                assert await ask(upstream) == ("proxy-timeout", ["u/0:proxy-timeout"])
            assert proxy.hold is not None
            proxy.hold.set()

    asyncio.run(timed_out())


def test_an_unreachable_proxy_is_not_passed_by(pki: Any, tmp_path: Path) -> None:
    async def refused() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy() as proxy:
                pass
            async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                assert await ask(upstream) == ("proxy-connect", ["u/0:proxy-connect"])
            assert server.connections == 0

    asyncio.run(refused())


def test_the_certificate_of_a_proxy_is_verified(pki: Any, tmp_path: Path) -> None:
    async def refused() -> None:
        with ConnectProxy(server_tls(pki)) as proxy:
            async with upstream_behind(pki, proxy, tmp_path, 9, ca_file=None) as upstream:
                assert await ask(upstream) == ("proxy-tls", ["u/0:proxy-tls"])
        assert proxy.requests == []

    asyncio.run(refused())


def test_the_certificate_in_the_tunnel_is_verified_by_the_name_of_the_cloud(
    run: Callable[[Any], Any], pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    """The proxy resolves the name, and its own certificate is no help for another one."""

    async def refused() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(tls) as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    address = upstream.servers[0].address
                    other = type(address)("cloud.example", address.port, address.tls, address.proxy)
                    upstream.servers[0].address = other
                    assert await ask(upstream) == ("tls", ["u/0:tls"])
                assert proxy.requests[0].startswith(b"CONNECT cloud.example:%d HTTP/1.1\r\n" % server.port)
            assert server.requests == []

    run(refused())


def test_a_tunnel_closed_during_the_handshake_sends_nothing(
    run: Callable[[Any], Any], pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    async def refused() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy(tls, cut_after_bytes=0) as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    assert await ask(upstream) == ("connect", ["u/0:connect"])
            assert server.requests == []

    run(refused())


def test_a_tunnel_closed_during_an_answer_is_a_broken_answer(
    run: Callable[[Any], Any], pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    async def cut() -> None:
        async with RawServer(lambda _: [ok(b"x" * 200_000)], tls=server_tls(pki)) as server:
            with ConnectProxy(tls, cut_after_bytes=60_000) as proxy:
                async with upstream_behind(pki, proxy, tmp_path, server.port) as upstream:
                    assert (await ask(upstream))[0] == "broken"
            assert len(server.requests) == 1

    run(cut())


def test_a_failed_tunnel_is_followed_by_the_next_server(pki: Any, tmp_path: Path) -> None:
    async def served() -> None:
        async with RawServer(lambda _: [ok(b"{}")], tls=server_tls(pki)) as server:
            with ConnectProxy() as proxy:
                async with upstream_behind(pki, proxy, tmp_path, 9, server.port) as upstream:
                    reply, attempts = await ask(upstream)
                    assert reply == "{}"
                    assert attempts[-1] == "u/1:200"

    asyncio.run(served())


def test_tokens_of_a_service_account_are_exchanged_through_the_proxy(
    run: Callable[[Any], Any], pki: Any, tls: ssl.SSLContext | None, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = tmp_path / "account.json"
    file.write_text(
        json.dumps({"type": "service_account", "client_email": "a@cloud.example", "private_key": key.decode()})
    )
    file.chmod(0o600)

    async def exchanged() -> None:
        answer = ok(b'{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}')
        async with RawServer(lambda _: [answer], tls=server_tls(pki)) as server:
            with ConnectProxy(tls) as proxy:
                settings = VertexSettings.model_validate(
                    {
                        "project": "p",
                        "location": "global",
                        "publisher": "google",
                        "service_account_file": file,
                        "token_url": f"https://127.0.0.1:{server.port}/token",
                        "token_ca_file": pki.ca_file,
                    }
                )
                context = ssl.create_default_context(cafile=pki.ca_file) if tls else None
                through = Proxy("127.0.0.1", proxy.port, context)
                account = ServiceAccount(settings, connect_timeout_s=20, proxy=through)
                headers = await account.headers(authority="x", target="/", body=b"")
                assert headers == {"authorization": "Bearer t"}
                account._server.close_idle(longer_than_s=0)
                assert len(proxy.requests) == server.connections == 1

    run(exchanged())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "pool"}, "expected none for a pool"),
        ({"base_urls": ["http://127.0.0.1:9/v1"]}, "expected https in base_urls"),
        ({"proxy": {"url": "http://u:p@127.0.0.1:9"}}, "got credentials in the URL"),
        ({"proxy": {"url": "http://127.0.0.1:9/path"}}, "host and port only"),
        ({"proxy": {"url": "http://127.0.0.1:9", "user": "u"}}, "together"),
        ({"proxy": {"url": "http://127.0.0.1:9", "user": "u:v", "password_file": "x"}}, "pattern"),
        ({"proxy": {"url": "http://127.0.0.1:9", "ca_file": "x"}}, "ca_file"),
        ({"proxy": {"url": "http://10.0.0.8:9", "user": "u", "password_file": "x"}}, "network could read"),
    ],
)
def test_rejects_settings_of_a_proxy_that_cannot_hold(changes: dict[str, Any], message: str) -> None:
    settings = {
        "name": "u",
        "kind": "cloud",
        "base_urls": ["https://127.0.0.1:9/v1"],
        "model": "m",
        "proxy": {"url": "http://127.0.0.1:9"},
    }
    UpstreamSettings.model_validate(settings)
    with pytest.raises(ValueError, match=message):
        UpstreamSettings.model_validate(settings | changes)


def test_a_password_that_others_can_read_is_not_used(pki: Any, tmp_path: Path) -> None:
    async def refused() -> None:
        with ConnectProxy() as proxy:
            (tmp_path / "password").write_text("secret")
            (tmp_path / "password").chmod(0o644)
            made = UpstreamSettings.model_validate(
                {
                    "name": "u",
                    "kind": "cloud",
                    "base_urls": ["https://127.0.0.1:9/v1"],
                    "model": "m",
                    "proxy": {"url": proxy.url, "user": "u", "password_file": tmp_path / "password"},
                }
            )
            with pytest.raises(InputError, match="readable by others"):
                await Upstream(made, Limits()).__aenter__()

    asyncio.run(refused())
