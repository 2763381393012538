"""Reads request bodies and writes answer bodies directly on uvicorn's cycle, without ASGI messages.

ASGI's `send` is a coroutine: each chunk of an upstream has to wake the task that awaits it, which costs more than the
chunk itself. Below that `send` is uvicorn's `RequestResponseCycle`, so the caller can write a chunk directly. It is
sent
at the end of the event loop's iteration, together with chunks for other clients, or before the next direct write. A
chunk that cannot be written immediately (a slow client, a closed connection) is left to `send`, which can wait. A
request
body that has arrived completely is read without `receive` in the same way.

The fields of the cycle are private to uvicorn. Its version is pinned; see tests/gateway/http/test_uvicorn_internals.py.

    body_if_complete(receive)             # the body, or None: await receive()
    body = ClientBody.of(send)        # None if another server runs the application
    body.write(b"data: {}\\n\\n")           # True, or False: await send(...)
    write_whole_answer(send, 200, headers, b"{}")  # the same for a whole answer, head and body
"""

from __future__ import annotations

import sys
from typing import Self

from starlette.types import Receive, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ..domain.errors import Headers
from .client_transport import ClientTransport


class ClientBody:
    """A chunked body (RFC 9112, 7.1); `send` writes its end. In HTTP/1.0 the end of the connection ends it."""

    __slots__ = ("_cycle", "_flow", "_write_soon")

    def __init__(self, cycle: RequestResponseCycle, transport: ClientTransport) -> None:
        self._cycle, self._flow, self._write_soon = cycle, cycle.flow, transport.write_soon

    @classmethod
    def of(cls, send: Send) -> Self | None:
        """Return the body that `send` writes to."""
        cycle = getattr(send, "__self__", None)
        if not isinstance(cycle, RequestResponseCycle) or not isinstance(cycle.transport, ClientTransport):
            return None
        return cls(cycle, cycle.transport)

    @property
    def has_left(self) -> bool:
        """The client closed its connection."""
        return self._cycle.disconnected

    def begin(self, status: int, headers: Headers, piece: bytes) -> bool:
        """Write the head and a first chunk together. Return False if the caller must use `send` for both.

        Args:
            headers: names in lower case; without `connection` and `transfer-encoding`.
        """
        cycle = self._cycle
        if cycle.scope["http_version"] == "1.0":  # HTTP/1.0 has no chunks, and uvicorn requires chunks or a length
            cycle.chunked_encoding, cycle.expected_content_length = False, sys.maxsize
            return False
        head = _head(cycle, status, [*headers, (b"transfer-encoding", b"chunked")])
        if head is None:
            return False
        cycle.response_started = cycle.chunked_encoding = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"%b%x\r\n%b\r\n" % (head, len(piece), piece))
        return True

    def end(self, piece: bytes) -> None:
        """Prepare for the last chunk."""
        if not self._cycle.chunked_encoding:
            self._cycle.expected_content_length = len(piece)

    def write(self, piece: bytes) -> bool:
        """Queue a non-empty chunk for the end of this iteration. Return False if it was not accepted."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or not cycle.chunked_encoding:
            return False
        self._write_soon(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True


def body_if_complete(receive: Receive) -> bytes | None:
    """Return the whole request body, once; None if part of it has not arrived yet."""
    cycle = getattr(receive, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle) or cycle.more_body or cycle.disconnected:
        return None
    if cycle.waiting_for_100_continue or cycle.flow.read_paused:
        return None
    body, cycle.body = bytes(cycle.body), bytearray()
    return body


def write_whole_answer(send: Send, status: int, headers: Headers, body: bytes) -> bool:
    """Write a whole answer, in a third of the time of two calls of `send`. Return False if it was not written.

    Args:
        headers: all headers including the body's length, names in lower case; without `connection` and
            `transfer-encoding`.
    """
    cycle = getattr(send, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle) or (head := _head(cycle, status, headers)) is None:
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue, cycle.chunked_encoding = False, False
    cycle.transport.write(head + body)
    cycle.message_event.set()
    cycle.on_response()
    return True


def _head(cycle: RequestResponseCycle, status: int, headers: Headers) -> bytes | None:
    """Return the head of an answer; None if `send` must write or reject it."""
    if cycle.response_started or cycle.flow.write_paused or cycle.disconnected or not cycle.keep_alive:
        return None
    if cycle.scope["method"] == "HEAD" or cycle.access_log:
        return None
    lines = [*map(b": ".join, (*cycle.default_headers, *headers)), b"\r\n"]
    head, breaks = b"\r\n".join(lines), len(lines)
    if head.count(b"\n") != breaks or head.count(b"\r") != breaks or 0 in head:
        return None
    return STATUS_LINE[status] + head
