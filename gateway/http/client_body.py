"""The body of a client's request, and of its answer, without ASGI's messages where uvicorn's cycle is behind them.

ASGI's `send` is a coroutine: a piece that comes from an upstream has to wake the task that awaits it, which costs more
than the piece itself. uvicorn's own cycle is behind that `send`, so a piece may as well be written by whoever has it;
it goes out at the end of the loop's turn, with those for other clients, or with what is written behind it before that.
What can't be written at once (a client that reads slowly, or has left) is left to `send`, which knows how to wait. A
request that came whole, as most do, is had without `receive` in the same way.

    received_at_once(receive)             # the body, or None: await receive()
    body = ClientBody.behind(send)        # None where another server serves
    body.write(b"data: {}\\n\\n")           # True, or False: await send(...)
    written_at_once(send, 200, headers, b"{}")  # the same for a whole answer, head and body
"""

from __future__ import annotations

import sys
from typing import Self

from starlette.types import Receive, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ..domain.errors import Headers
from .client_transport import ClientTransport


class ClientBody:
    """A body in chunks (RFC 9112, 7.1) whose end `send` sends; in HTTP/1.0 the connection's end is its own."""

    __slots__ = ("_cycle", "_flow", "_write_soon")

    def __init__(self, cycle: RequestResponseCycle, transport: ClientTransport) -> None:
        self._cycle, self._flow, self._write_soon = cycle, cycle.flow, transport.write_soon

    @classmethod
    def behind(cls, send: Send) -> Self | None:
        """The one that `send` writes to."""
        cycle = getattr(send, "__self__", None)
        if not isinstance(cycle, RequestResponseCycle) or not isinstance(cycle.transport, ClientTransport):
            return None
        return cls(cycle, cycle.transport)

    @property
    def has_left(self) -> bool:
        """True when the client closed its connection."""
        return self._cycle.disconnected

    def begin(self, status: int, headers: Headers, piece: bytes) -> bool:
        """Write the head and a first piece in one go; False when `send` is to send both.

        Args:
            headers: in lower case; not `connection` nor `transfer-encoding`.
        """
        cycle = self._cycle
        if cycle.scope["http_version"] == "1.0":  # it knows no chunks, and uvicorn no body without them or a length
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
        """Before the last piece."""
        if not self._cycle.chunked_encoding:
            self._cycle.expected_content_length = len(piece)

    def write(self, piece: bytes) -> bool:
        """Write a piece that is not empty, at the end of this turn; False when it was not taken."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or not cycle.chunked_encoding:
            return False
        self._write_soon(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True


def received_at_once(receive: Receive) -> bytes | None:
    """The whole body of a request, as `receive` would give it, once; None when some of it has to be waited for."""
    cycle = getattr(receive, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle) or cycle.more_body or cycle.disconnected:
        return None
    if cycle.waiting_for_100_continue or cycle.flow.read_paused:
        return None
    body, cycle.body = bytes(cycle.body), bytearray()
    return body


def written_at_once(send: Send, status: int, headers: Headers, body: bytes) -> bool:
    """Write a whole answer, as two messages to `send` would, in a third of their time; False when it was not written.

    Args:
        headers: all of them, in lower case, the body's length among them; not `connection` nor `transfer-encoding`.
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
    """The head of an answer; None when `send` is to write it, or to say what is wrong with it."""
    if cycle.response_started or cycle.flow.write_paused or cycle.disconnected or not cycle.keep_alive:
        return None
    if cycle.scope["method"] == "HEAD" or cycle.access_log:
        return None
    lines = [*map(b": ".join, (*cycle.default_headers, *headers)), b"\r\n"]
    head, breaks = b"\r\n".join(lines), len(lines)
    if head.count(b"\n") != breaks or head.count(b"\r") != breaks or 0 in head:
        return None
    return STATUS_LINE[status] + head
