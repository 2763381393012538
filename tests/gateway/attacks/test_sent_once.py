"""A request that an upstream received is not sent to it a second time, unless the client or the settings permit it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config
from loopback_ports import unused_port
from raw_upstream import RESET, RawUpstream, _request, whole

ANSWER = (
    b'{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."}}]}'
)
BROKEN: dict[str, list[Any]] = {
    "closed": [],
    "reset": [RESET],
    "half a head": [b"HTTP/1.1 200 OK\r\ncontent-"],
    "not http": [b"220 mail.example ESMTP\r\n"],
}


@contextlib.contextmanager
def two_servers(folder: Path, *plans: list[Any], **changes: Any) -> Iterator[tuple[LoopbackGateway, list[RawUpstream]]]:
    """A gateway in front of a pool of servers with these plans."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(RawUpstream(plan=plan)) for plan in plans]
        config = write_loopback_config(folder, cloud_port=unused_port())
        settings = yaml.safe_load(config.read_text())
        settings["upstreams"][0]["base_urls"] = [f"http://127.0.0.1:{server.port}/v1" for server in servers]
        settings["routes"] = [{"model": "assistant", "pool": "chat"}]
        config.write_text(yaml.safe_dump({**settings, **changes}))
        yield stack.enter_context(running_gateway(config)), servers


def posts(servers: list[RawUpstream]) -> int:
    return sum(raw.startswith(b"POST ") for server in servers for raw in server.raw)


@pytest.mark.parametrize("fault", BROKEN)
def test_a_request_without_an_answer_is_not_sent_again(tmp_path: Path, fault: str) -> None:
    with two_servers(tmp_path, BROKEN[fault], BROKEN[fault]) as (gateway, servers):
        assert gateway.post(say("Hello, how are you?"))[0] == 503
        assert posts(servers) == 1


@pytest.mark.parametrize(
    ("changes", "headers"),
    [({}, {"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}), ({"routing": {"resend_unanswered": True}}, {})],
)
def test_the_client_or_the_operator_permits_to_send_it_again(
    tmp_path: Path, changes: dict[str, Any], headers: dict[str, str]
) -> None:
    with two_servers(tmp_path, [], [], **changes) as (gateway, servers):
        assert gateway.post(say("Hello, how are you?"), headers=headers)[0] == 503
        assert posts(servers) == 2


def test_an_answer_that_reports_an_error_is_followed_by_the_next_server(tmp_path: Path) -> None:
    overloaded = [b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"]
    with two_servers(tmp_path, overloaded, overloaded) as (gateway, servers):
        assert gateway.post(say("Hello, how are you?"))[0] == 503
        assert posts(servers) >= 2


@dataclass
class ForgetfulServer:
    """Answers the first request of a connection, reads the second one, and closes without an answer."""

    posts: list[bytes] = field(default_factory=list)

    def __enter__(self) -> ForgetfulServer:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._server.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while True:
                raw = _request(client)
                if not raw.startswith(b"POST "):
                    client.sendall(b"".join(whole(b"{}")))
                    continue
                self.posts.append(raw)
                if len(self.posts) == 2:
                    return
                client.sendall(b"".join(whole(ANSWER)))


@pytest.mark.parametrize(("headers", "status", "received"), [({}, 503, 2), ({"idempotency-key": "k"}, 200, 3)])
def test_a_reused_connection_that_closes_after_the_write_may_have_delivered_it(
    tmp_path: Path, headers: dict[str, str], status: int, received: int
) -> None:
    with ForgetfulServer() as server:
        route = {"routes": [{"model": "assistant", "pool": "chat"}], "routing": {"scrape_every_s": 60}}
        config = write_loopback_config(tmp_path, cloud_port=unused_port(), pool_port=server.port, **route)
        with running_gateway(config) as gateway:
            ask: Callable[[], int] = lambda: gateway.post(say("Hello, how are you?"), headers=headers)[0]  # noqa: E731
            assert ask() == 200
            assert ask() == status
            assert len(server.posts) == received
