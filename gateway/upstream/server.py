"""One server of a pool or a cloud: its connections, its load and its availability.

server = Server(url, tls=None, headers={"User-Agent": "x"}, breaker=Breaker(3, 10.0), connect_timeout_s=3)
connection = await server.post("chat/completions", body, timeout_s=60, read_timeout_s=30)
server.give_back(connection)
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..domain.errors import UpstreamFailed
from .breaker import Breaker
from .connection import Address, Connection
from .load import Load
from .proxy import Proxy
from .server_choice import SAMPLES, seed_of

MAX_IN_FLIGHT = 1024  # requests of one process to one server; vLLM queues as many (max_num_queued_reqs in site.yaml)
# Unused connections are closed after this time, before the server closes its side: uvicorn, and so vLLM, does after 5 s
# (uvicorn 0.38, --timeout-keep-alive, read 2026-11). A request on a connection that closes then is not sent again.
_IDLE_S = 4.0


class Server:
    """One server.

    Args:
        url: ends in `/v1`.
        tls: None for plain http on this machine.
        headers: of every request.
        proxy: in front of a server with https; None without one.
    """

    def __init__(
        self,
        url: str,
        *,
        tls: ssl.SSLContext | None,
        headers: Mapping[str, str],
        breaker: Breaker,
        connect_timeout_s: float,
        proxy: Proxy | None = None,
    ) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        is_tls = parts.scheme == "https"
        self.url, self.headers = url, headers
        self.address = Address(parts.hostname, parts.port or (443 if is_tls else 80), tls if is_tls else None, proxy)
        self.breaker = breaker
        self.in_flight = 0
        """This process's requests there without a complete answer."""
        self.busy_until_s = 0.0
        """The server returned 429 or 503 and asked for a pause until then, in event-loop time (seconds)."""
        self.answered_s = -math.inf
        """Time at which it last began an answer, in event-loop time (seconds)."""
        self.refusal = ""
        """Why its last response rejected this gateway, for the operator; empty if it accepted a request."""
        self.is_drained = False
        """An operator drains it: it receives no new requests."""
        self.ejected_until_s = 0.0
        """Skipped until then because it is far slower than its peers, in event-loop time (seconds)."""
        self.load: Load | None = None
        """Its last metrics; None if never received."""
        self.latencies_s: deque[float] = deque(maxlen=SAMPLES)
        """Latest times to the first byte."""
        self.seed = seed_of(url)
        self._connect_timeout_s = connect_timeout_s
        self.path = parts.path.rstrip("/")
        self._lines = "".join(_line(name, value) for name, value in {"Host": self.address.authority, **headers}.items())
        self._heads: dict[str, bytes] = {}
        self._idle: list[tuple[Connection, float]] = []  # last used connection at the end

    def is_admitting(self, now_s: float) -> bool:
        """Return whether the server is not drained, and its circuit breaker admits a request."""
        return not self.is_drained and self.breaker.would_admit(now_s)

    def is_available(self, now_s: float) -> bool:
        """Return whether the server is admitting, not busy and not ejected."""
        return self.busy_until_s <= now_s and self.ejected_until_s <= now_s and self.is_admitting(now_s)

    def as_record(self, now_s: float, *, stale_after_s: float) -> dict[str, Any]:
        """Return its current state as plain values, for operators; metrics older than `stale_after_s` are None."""
        load = self.load if self.load is not None and now_s - self.load.at_s <= stale_after_s else None
        return {
            "url": self.url,
            "in_flight": self.in_flight,
            "circuit": self.breaker.state(now_s).value,
            "is_busy": now_s < self.busy_until_s,
            "is_ejected": now_s < self.ejected_until_s,
            "is_drained": self.is_drained,
            "load_age_s": None if load is None else now_s - load.at_s,
            "running": None if load is None else load.running,
            "waiting": None if load is None else load.waiting,
            "kv_usage": None if load is None else load.kv_usage,
        }

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        timeout_s: float,
        read_timeout_s: float,
        headers: Mapping[str, str] | None = None,
        may_resend: bool = False,
    ) -> Connection:
        """Send a request and wait for the head of its answer. Unless this raises, the caller must call `give_back`.

        Args:
            path: below `/v1`; `../tokenize` for a path outside it.
            headers: of this request; `Content-Type` replaces the default for JSON.
            may_resend: send it again if a reused connection closed without an answer.

        Raises:
            UpstreamFailed: as `Connection`, or `full`; `stale` only if a reused connection closed.
        """
        request = self._head(path, len(body), headers) + body
        if self.in_flight >= MAX_IN_FLIGHT:
            raise UpstreamFailed("full")
        self.in_flight += 1
        try:
            return await self._exchange(request, timeout_s, read_timeout_s, may_resend=may_resend)
        except BaseException:
            self.in_flight -= 1
            raise

    async def get(
        self, target: str, *, timeout_s: float, at_most: int, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return status and body of a GET of an absolute path, such as `/metrics`; not counted as a request of a
        client.

        Args:
            headers: in addition to those of every request.

        Raises:
            UpstreamFailed: as for `post`, or the body is longer than `at_most` bytes.
        """
        lines = "".join(_line(name, value) for name, value in (headers or {}).items())
        request = f"GET {target} HTTP/1.1\r\n{self._lines}{lines}\r\n".encode("latin-1")
        connection = await self._exchange(request, timeout_s, timeout_s, may_resend=True)
        body = bytearray()
        try:
            while len(body) <= at_most and (piece := await connection.piece()):
                body += piece
        finally:
            self._keep(connection)
        if len(body) > at_most:
            raise UpstreamFailed("too-large")
        return connection.status, bytes(body)

    def give_back(self, connection: Connection, *, is_ending: bool = False) -> None:
        """Return a connection after an answer, read to its end or not.

        Args:
            is_ending: the server is about to end the answer, so the connection can be reused soon.
        """
        self.in_flight -= 1
        if is_ending and not connection.is_whole:
            connection.linger(lambda: self._keep(connection))
        else:
            self._keep(connection)

    def _keep(self, connection: Connection) -> None:
        if connection.is_reusable:
            self._idle.append((connection, asyncio.get_running_loop().time()))
        else:
            connection.close()

    def failed(self) -> None:
        """Record an answer that broke off."""
        self.breaker.failed(asyncio.get_running_loop().time())

    def close_idle(self, *, longer_than_s: float = _IDLE_S) -> None:
        """Close connections that were unused for this time."""
        now_s = asyncio.get_running_loop().time()
        kept = [(each, since_s) for each, since_s in self._idle if each.is_reusable and now_s - since_s < longer_than_s]
        for each, _ in self._idle:
            if all(each is not other for other, _ in kept):
                each.close()
        self._idle = kept

    async def _exchange(
        self, request: bytes, timeout_s: float, read_timeout_s: float, *, may_resend: bool
    ) -> Connection:
        connection: Connection | None = None
        oldest_s = asyncio.get_running_loop().time() - _IDLE_S
        try:
            while self._idle:
                connection, since_s = self._idle.pop()
                if not connection.is_reusable or since_s < oldest_s:
                    connection.close()
                    continue
                try:
                    connection.send(request, timeout_s=timeout_s, read_timeout_s=read_timeout_s)
                    await connection.head()
                except UpstreamFailed as error:
                    # The server closed the connection after the write, and may have received the request
                    # (RFC 9110, 9.2.2: a proxy must not repeat a request that is not idempotent).
                    if error.cause != "stale" or not may_resend:
                        raise
                else:
                    return connection
            connection = await Connection.open(self.address, timeout_s=min(timeout_s, self._connect_timeout_s))
            connection.send(request, timeout_s=timeout_s, read_timeout_s=read_timeout_s)
            try:
                await connection.head()
            except UpstreamFailed as error:
                raise UpstreamFailed("broken") if error.cause == "stale" else error from None
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        return connection

    def target(self, path: str) -> str:
        """Return the target of a request, for a path below `/v1` or with `../`."""
        if path.startswith("../"):
            return f"{self.path.rpartition('/')[0]}/{path[3:]}"
        return f"{self.path}/{path}"

    def _head(self, path: str, body_bytes: int, headers: Mapping[str, str] | None) -> bytes:
        if headers:
            lines = "".join(_line(name, value) for name, value in headers.items())
            if not any(name.lower() == "content-type" for name in headers):
                lines += "Content-Type: application/json\r\n"
            start = f"POST {self.target(path)} HTTP/1.1\r\n{self._lines}{lines}Content-Length: ".encode("latin-1")
        else:
            known = self._heads.get(path)
            if known is None:
                lines = f"{self._lines}Content-Type: application/json\r\nContent-Length: "
                known = self._heads[path] = f"POST {self.target(path)} HTTP/1.1\r\n{lines}".encode("latin-1")
            start = known
        return b"%b%d\r\n\r\n" % (start, body_bytes)


def _line(name: str, value: str) -> str:
    """Return a header line.

    Raises:
        ValueError: the value contains a line break.
    """
    if "\r" in value or "\n" in value or "\0" in value or not name.isascii():
        raise ValueError(f"the value of header {name} contains a line break")
    return f"{name}: {value}\r\n"
