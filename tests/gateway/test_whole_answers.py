"""What is written past the server's `send`, whole or streamed, is byte for byte what messages to it would have been."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn

from sovctl.gateway.http.client_body import ClientBody, write_whole_answer
from sovctl.gateway.http.connections import DeadlineProtocol, protocol_class
from sovctl.gateway.settings import Listen

ANSWERS: list[tuple[int, list[tuple[bytes, bytes]], bytes]] = [
    (200, [(b"content-type", b"application/json"), (b"x-request-id", b"0" * 32)], b'{"a":1}'),
    (200, [(b"content-type", "text/plain; charset=\u00e9".encode("latin-1"))], "\u0416".encode() * 50_000),
    (503, [(b"retry-after", b"1")], b""),
    (404, [], b"\r\n\r\n"),
]


class Both:
    """Answers `/PLACE/at-once` and `/PLACE/by-messages`; notes what was written at once."""

    def __init__(self) -> None:
        self.at_once: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        _, place, how = scope["path"].split("/")
        status, headers, body = ANSWERS[int(place)]
        headers = [*headers, (b"content-length", b"%d" % len(body))]
        if how == "broken":
            headers.append((b"x-name", b"two\r\nlines: 1"))
        if how != "by-messages":
            self.at_once.append(write_whole_answer(send, status, headers, body))
        if how == "by-messages" or not self.at_once[-1]:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


class Streams:
    """Streams three pieces, `/at-once` or `/by-messages`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        first, second, last = b"data: 1\n\n", b"data: 22222222222222222\n\n", b"data: [DONE]\n\n"
        headers = [(b"content-type", b"text/event-stream")]
        if scope["path"] == "/at-once":
            body = ClientBody.of(send)
            assert body is not None
            assert body.begin(200, headers, first)
            assert body.write(second)
            body.end(last)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            for piece in (first, second):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": last})


def asked(app: Both | Streams, *requests: bytes) -> list[bytes]:
    """What a real server says to each of these on one connection, without its date; empty where it hung up."""

    async def run() -> list[bytes]:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            http = protocol_class(DeadlineProtocol, Listen(host="127.0.0.1", port=8080))
            config = uvicorn.Config(app, http=http, lifespan="off", log_config=None, access_log=False, loop="uvloop")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            said = []
            for request in requests:
                writer.write(request)
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except asyncio.IncompleteReadError:
                    said.append(b"")
                    break
                lines = [line for line in head.split(b"\r\n") if not line.startswith(b"date: ")]
                assert b"\r\ndate: " in head
                if b"transfer-encoding: chunked" in lines:
                    said.append(b"\r\n".join(lines) + await reader.readuntil(b"\r\n0\r\n\r\n"))
                    continue
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                is_head = request.startswith(b"HEAD")
                body = b"" if is_head else await reader.readexactly(length)
                said.append(b"\r\n".join(lines) + body)
            writer.close()
            server.should_exit = True
            await serving
            return said

    return asyncio.run(run())


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def test_a_whole_answer_is_the_same_however_it_is_written() -> None:
    app = Both()
    requests = [request(f"/{place}/{how}") for place in range(len(ANSWERS)) for how in ("at-once", "by-messages")]
    said = asked(app, *requests)
    assert said[::2] == said[1::2]
    assert app.at_once == [True] * len(ANSWERS)


def test_a_stream_is_the_same_however_it_is_written() -> None:
    said = asked(Streams(), *[request(path) for path in ("/at-once", "/by-messages", "/at-once")])
    assert said == [said[1]] * 3
    assert said[0].count(b"data: ") == 3


def test_what_needs_more_care_is_left_to_the_server() -> None:
    app = Both()
    (last,) = asked(app, request("/0/at-once", "Connection: close"))
    assert b"connection: close" in last
    (head,) = asked(app, request("/0/at-once", method="HEAD"))
    assert head.endswith(b"\r\n\r\n")
    assert app.at_once == [False, False]


def test_a_header_of_two_lines_is_never_written() -> None:
    app = Both()
    assert asked(app, request("/0/broken")) == [b""]
    assert app.at_once == [False]
