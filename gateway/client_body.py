"""The body of an answer that is streamed to a client, written the moment it is there.

ASGI's `send` is a coroutine: a piece that comes from an upstream has to wake the task that awaits it, which costs more
than the piece itself. uvicorn's own cycle is behind that `send`, so a piece may as well be written by whoever has it.
What can't be written at once (a client that reads slowly, or has left) is left to `send`, which knows how to wait.

    body = ClientBody.behind(send)        # None where another server serves
    body.write(b"data: {}\\n\\n")           # True, or False: await send(...)
"""

from __future__ import annotations

from typing import Self

from starlette.types import Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class ClientBody:
    """A body in chunks (RFC 9112, 7.1) whose head `send` has sent."""

    __slots__ = ("_cycle", "_flow", "_write")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle, self._flow, self._write = cycle, cycle.flow, cycle.transport.write

    @classmethod
    def behind(cls, send: Send) -> Self | None:
        """The one that `send` writes to."""
        cycle = getattr(send, "__self__", None)
        return cls(cycle) if isinstance(cycle, RequestResponseCycle) else None

    @property
    def has_left(self) -> bool:
        """True when the client closed its connection."""
        return self._cycle.disconnected

    def write(self, piece: bytes) -> bool:
        """Write a piece that is not empty; False when it was not written."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or not cycle.chunked_encoding:
            return False
        self._write(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True
