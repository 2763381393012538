"""A server on loopback that sends exactly the bytes a test gives it, and remembers what it got.

async with RawServer(lambda request: [ok(b"{}")]) as server:
    server.url                      # http://127.0.0.1:port/v1
    server.requests                 # heads and bodies, as they came
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Self


class Close:
    """End the connection here."""


Step = bytes | asyncio.Event | type[Close]
"""Bytes to send, something to wait for, or the end."""


def ok(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer with its length."""
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\n{lines}content-length: {len(body)}\r\n\r\n".encode() + body


def chunked(*pieces: bytes, is_ended: bool = True) -> list[Step]:
    """An answer in chunks, each sent by itself."""
    head: list[Step] = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"]
    body: list[Step] = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return [*head, *body, *([b"0\r\n\r\n"] if is_ended else [])]


class RawServer:
    """Use as an async context manager.

    Args:
        script: what to do for a request, given its head and body.
    """

    def __init__(
        self, script: Callable[[bytes], Sequence[Step]], *, port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.script = script
        self.port = port
        self.tls = tls
        self.requests: list[bytes] = []
        self.connections = 0
        self.open: dict[asyncio.StreamWriter, asyncio.StreamReader] = {}
        self.closed = asyncio.Event()
        """Set when a client has closed a connection between two requests."""
        self._asked = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()
        for writer in self.open:
            (writer.transport.abort if self.tls else writer.close)()  # TLS would wait for the other end
        for _ in range(4 if self.tls else 1):
            await asyncio.sleep(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def asked(self) -> None:
        """Return when a request has come."""
        await self._asked.wait()

    async def gone(self) -> None:
        """Return when every client has ended its connection while its answer hung at an event."""
        for reader in [*self.open.values()]:
            with contextlib.suppress(ConnectionError):
                await reader.read()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open[writer] = reader
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(lengths[0].split(b":")[1])) if lengths else b""
                self.requests.append(head + body)
                self._asked.set()
                for step in self.script(head + body):
                    if isinstance(step, asyncio.Event):
                        await step.wait()
                    elif isinstance(step, bytes):
                        writer.write(step)
                        await writer.drain()
                    else:
                        return
        except (asyncio.IncompleteReadError, ConnectionError):
            self.closed.set()
        finally:
            self.open.pop(writer)
            writer.close()
