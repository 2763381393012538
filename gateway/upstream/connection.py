"""One HTTP/1.1 connection to a model server, with one request at a time, on asyncio's transport and llhttp's parser.

A general client costs 0.1 ms of CPU per request, an eighth of the gateway's budget for a request; this one costs a
quarter of that (measured 2026-11, 2 KB up, 0.6 KB down, one core). It supports only what model servers need: no
redirects, cookies or compression, and a proxy only as a tunnel (`proxy`). An unsupported response closes the
connection.

    connection = await Connection.open(address, timeout_s=3)
    connection.send(b"POST /v1/chat/completions HTTP/1.1\\r\\n...", timeout_s=60)
    status = await connection.head()
    while piece := await connection.piece(): ...        # or connection.pour(take), on arrival
    connection.is_reusable      # the answer was read to its end and the server keeps the connection open
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Self, cast

import httptools

from ..domain.errors import UpstreamFailed
from .proxy import Proxy, open_tunnel

_MAX_HEAD_BYTES = 64 << 10  # of an answer; four times what uvicorn and h11 accept of a request (h11 0.16: 16 KiB)
_LINGER_S = 1.0  # for the end of a stream after its last event: several round trips
_CLOCK_S = 0.001  # libuv's clock counts milliseconds
_PAUSE_BYTES = 256 << 10  # bounds the memory for a slow client; four of asyncio's own 64 KiB reads


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a server, the TLS context for it, and the proxy in front of it."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    proxy: Proxy | None = None
    """Only with `tls`, so that the proxy sees no request."""

    @property
    def authority(self) -> str:
        """Value of the `Host` header."""
        return self._written_host if self.port == (443 if self.tls else 80) else self.target

    @property
    def target(self) -> str:
        """Host and port, as in the request line of CONNECT."""
        return f"{self._written_host}:{self.port}"

    @property
    def _written_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class Connection(asyncio.Protocol):
    """One connection, used by one task at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        """Headers of the answer, unchanged."""
        self._is_busy = False
        self._has_head = False
        self._is_whole = False
        self._keeps_alive = False
        self._is_lost = False
        self._talks_unasked = False
        self._is_paused = False
        self._failure: str | None = None
        self._pieces: list[bytes] = []
        self._unread_bytes = 0
        self._heard_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = self._due_s = inf
        self._read_timeout_s = 0.0
        self._lingering: Callable[[], None] | None = None
        self._take: Callable[[bytes], bool] | None = None

    @classmethod
    async def open(cls, address: Address, *, timeout_s: float) -> Self:
        """Connect; the timeout includes the TLS handshake and the tunnel through a proxy.

        Raises:
            UpstreamFailed: the server does not answer in time (`connect`), its certificate is not trusted (`tls`), or
                the proxy opens no tunnel (causes of `proxy`).
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_s
        tunnel = (
            await open_tunnel(address.proxy, address.target, until_s=until_s) if address.proxy is not None else None
        )
        try:
            async with asyncio.timeout_at(until_s):
                if tunnel is not None:
                    return await cls._open_in(tunnel, address)
                _, connection = await loop.create_connection(
                    cls,
                    address.host,
                    address.port,
                    ssl=address.tls,
                    server_hostname=address.host if address.tls else None,
                )
        except ssl.SSLError:
            raise UpstreamFailed("tls") from None
        except (OSError, TimeoutError):
            raise UpstreamFailed("connect") from None
        return connection

    @classmethod
    async def _open_in(cls, tunnel: asyncio.Transport, address: Address) -> Self:
        """Connect through a tunnel: the TLS in it is that of a direct connection.

        Raises:
            OSError: the tunnel was closed, or the certificate of the server is not trusted.
        """
        assert address.tls is not None, "a proxy is only asked for servers with TLS"
        connection = cls()
        connection.connection_made(tunnel)  # to abort, if the server sends bytes before a request
        loop = asyncio.get_running_loop()
        # Closes the tunnel if it fails.
        transport = await loop.start_tls(tunnel, connection, address.tls, server_hostname=address.host)
        # uvloop 0.23 also returns without a handshake, if a TLS connection with the proxy ends during it.
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        if tls is None or tls.version() is None or connection._is_lost or connection._talks_unasked:
            tunnel.abort()
            raise ConnectionAbortedError
        assert transport is not None
        connection.connection_made(transport)
        return connection

    # Methods for the caller.

    def send(self, request: bytes, *, timeout_s: float, read_timeout_s: float) -> None:
        """Send a whole request.

        Args:
            timeout_s: until the head of the answer.
            read_timeout_s: between two chunks after that.
        """
        assert not self._is_busy
        self._is_busy, self._has_head, self._is_whole, self._keeps_alive = True, False, False, False
        self.status, self._heard_bytes, self._read_timeout_s = 0, 0, read_timeout_s
        self.headers.clear()
        self._give_up_in(timeout_s)
        self._transport.write(request)

    async def head(self) -> int:
        """Return the status of the answer.

        Raises:
            UpstreamFailed: no answer in time (`timeout`), or the connection broke: `stale` if nothing was received
                since the
                request, else `broken`.
        """
        while not self._has_head:
            await self._wait()
        return self.status

    async def piece(self) -> bytes:
        """Return the unread part of the body; empty at its end.

        Raises:
            UpstreamFailed: it paused too long (`stalled`), or broke off (`broken`).
        """
        while not self._pieces:
            if self._is_whole:
                return b""
            await self._wait()
        return self._unread()

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Pass the body to `take`, one read at a time, until that returns False. Return True at the body's end.

        No task has to wake for a chunk, which costs more than a short chunk itself.

        Args:
            take: must not raise.

        Raises:
            UpstreamFailed: as for `piece`.
        """
        while not self._pieces or take(self._unread()):
            if self._is_whole:
                return True
            self._take = take
            try:
                await self._wait()
            finally:
                is_stopped, self._take = self._take is None, None
            if is_stopped:
                return False
        return False

    def _unread(self) -> bytes:
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        pieces, self._pieces, self._unread_bytes = self._pieces, [], 0
        return b"".join(pieces)

    def linger(self, done: Callable[[], None]) -> None:
        """Read the irrelevant rest of an answer; call `done` when the connection is reusable or closed."""
        self._lingering = done
        self._pieces = []
        self._give_up_in(_LINGER_S)

    def close(self) -> None:
        """Close the connection immediately."""
        self._stop_timer()
        self._transport.abort()

    @property
    def is_reusable(self) -> bool:
        """Another request may be sent."""
        return self._is_whole and self._keeps_alive and not (self._pieces or self._is_lost or self._talks_unasked)

    @property
    def is_whole(self) -> bool:
        """The answer was received completely."""
        return self._is_whole

    def header(self, name: bytes) -> bytes | None:
        """Return a header of the answer; `name` in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    async def _wait(self) -> None:
        if self._failure is None:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._failure is not None:
            self.close()
            raise UpstreamFailed(self._failure)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif self._lingering is not None:
            self._pieces = []
            if self._is_whole or self._failure is not None:
                done, self._lingering = self._lingering, None
                self._due_s = inf
                done()

    def _fail(self, cause: str) -> None:
        if self._failure is None:
            self._failure = cause
        self._stop_timer()
        self._wake()

    # Timeouts. One timer serves many answers and all their chunks: when it fires, it checks for expired deadlines.

    def _give_up_in(self, seconds: float) -> None:
        self._due_s = self._loop.time() + seconds
        if self._due_s < self._timer_at_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at_s = self._loop.call_later(seconds, self._look_at_clock), self._due_s

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at_s, self._due_s = None, inf, inf

    def _look_at_clock(self) -> None:
        due_s, left_s = self._due_s, self._due_s - self._loop.time()
        self._timer, self._timer_at_s = None, inf
        if due_s == inf:
            return
        if left_s > _CLOCK_S:
            self._give_up_in(left_s)
        elif self._has_head and self._waiter is None and self._lingering is None:
            # Reading is paused for a slow client, so the pause is not the server's.
            self._give_up_in(self._read_timeout_s)
        else:
            self._fail("stalled" if self._has_head else "timeout")

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is not a subclass

    def data_received(self, data: bytes) -> None:
        if not self._is_busy:
            self._talks_unasked = True
            self._transport.abort()
            return
        if not self._has_head:
            self._heard_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._is_whole:
                self._fail("protocol")
                return
            self._talks_unasked = True
        if self._is_whole:
            self._due_s = inf
        elif self._has_head:
            if self._lingering is None:
                self._due_s = due_s = self._loop.time() + self._read_timeout_s
                if due_s < self._timer_at_s:
                    self._give_up_in(self._read_timeout_s)
        elif self._heard_bytes > _MAX_HEAD_BYTES:
            self._fail("protocol")
        if (take := self._take) is not None and self._pieces and self._failure is None:
            pieces, self._pieces = self._pieces, []  # all unread chunks
            if not take(b"".join(pieces)):
                self._take = None
            elif not self._is_whole:
                return  # no task to wake
        elif self._pieces and not self._is_paused:
            self._unread_bytes += len(data)
            if self._unread_bytes > _PAUSE_BYTES:
                self._is_paused = True
                self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        self._is_lost = True
        self._stop_timer()
        if not self._is_busy or self._is_whole:
            return
        if self._has_head and not self._has_length():
            self._is_whole = True  # RFC 9112, 6.3: such a body ends with the connection
            self._wake()
        else:
            self._fail("broken" if self._heard_bytes else "stale")

    def _has_length(self) -> bool:
        return self.header(b"content-length") is not None or self.header(b"transfer-encoding") is not None

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        # A second answer to one request is ambiguous: it is not read, and the connection is not used again.
        self._talks_unasked = self._is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._talks_unasked:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._talks_unasked:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.headers.clear()  # RFC 9110, 15.2: an interim answer; the final one follows
            return
        self.status, self._has_head = status, True

    def on_body(self, body: bytes) -> None:
        if not self._talks_unasked:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self._has_head and not self._talks_unasked:
            self._is_whole = True
            self._is_busy = False
            self._keeps_alive = self._parser.should_keep_alive()
