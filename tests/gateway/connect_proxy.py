"""A small HTTP proxy on loopback that opens tunnels (CONNECT), in a thread of its own, and keeps what it was sent.

with ConnectProxy(tls=context, credentials="gateway:secret") as proxy:
    proxy.url                   # https://127.0.0.1:port
    proxy.requests              # heads of the requests, as they came
    proxy.tunnelled             # bytes that went through, from the client
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, Self

OPENED = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n"
REQUIRED = b'HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 6\r\n\r\ndenied'


@dataclass
class ConnectProxy:
    """Use as a context manager. Tunnels end on loopback, whatever host is asked for."""

    tls: ssl.SSLContext | None = None
    credentials: str | None = None
    """User, colon, password; None if it asks for none."""
    answer: bytes = OPENED
    """Head that it sends for an allowed request."""
    opens: bool = True
    """Open a tunnel after that; otherwise the connection is closed."""
    hold: threading.Event | None = None
    """Wait for this before an answer."""
    cut_after_bytes: int | None = None
    """Close both ends after so many bytes of the server."""
    requests: list[bytes] = field(default_factory=list)
    tunnelled: bytearray = field(default_factory=bytearray)

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._server = self._loop.run_until_complete(
                asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
            )
            self.port: int = self._server.sockets[0].getsockname()[1]
            started.set()
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert started.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for _ in range(4):  # until the transports are closed
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._tunnel(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        if self.hold is not None:
            await asyncio.to_thread(self.hold.wait, 60)
        if self.credentials is not None:
            wanted = b"Proxy-Authorization: Basic " + b64encode(self.credentials.encode()) + b"\r\n"
            if wanted not in head:
                writer.write(REQUIRED)
                await writer.drain()
                return
        writer.write(self.answer)
        await writer.drain()
        if not self.opens:
            return
        port = int(head.split()[1].rpartition(b":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            both = (self._copy(reader, far_writer, is_kept=True), self._copy(far_reader, writer))
            _, pending = await asyncio.wait(map(asyncio.ensure_future, both), return_when=asyncio.FIRST_COMPLETED)
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        finally:
            far_writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_kept: bool = False) -> None:
        count = 0
        while data := await reader.read(65536):
            count += len(data)
            if is_kept:
                self.tunnelled += data
            elif self.cut_after_bytes is not None and count > self.cut_after_bytes:
                return
            writer.write(data)
            await writer.drain()
