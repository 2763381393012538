"""Opens a tunnel through an HTTP proxy (RFC 9110, 9.3.6: CONNECT), in which the gateway speaks TLS with a cloud.

The proxy receives host and port of the cloud and its own credentials, and nothing of a request. No byte of a request is
written before the tunnel and the TLS in it are established, so after any failure another server may be asked.

| cause | meaning |
|---|---|
| `proxy-connect` | the proxy cannot be reached in time |
| `proxy-tls` | the certificate of the proxy is not trusted |
| `proxy-407` | the proxy rejects the gateway's user and password |
| `proxy-refused` | the proxy answered with another status than 2xx: it does not permit or does not reach the cloud |
| `proxy-timeout` | the proxy did not answer in time |
| `proxy-closed` | the proxy closed the connection instead of an answer |
| `proxy-protocol` | the answer is not HTTP, is too long, or is followed by bytes before the tunnel was used |

    transport = await open_tunnel(proxy, "cloud.example:443", until_s=loop.time() + 3)
"""

from __future__ import annotations

import asyncio
import re
import ssl
from base64 import b64encode
from dataclasses import dataclass, field

from ..domain.errors import UpstreamFailed

_MAX_HEAD_BYTES = 16 << 10  # of the answer to CONNECT; as h11 accepts of any answer (h11 0.16)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n\0]*)?")  # RFC 9112, 4
_FIELD_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")  # RFC 9112, 5
_PROXY_AUTHENTICATION_REQUIRED = 407
_NOT_HTTP = 0


@dataclass(frozen=True, slots=True)
class Proxy:
    """Address and credentials of a proxy."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    """TLS to the proxy itself; None for plain http."""
    authorization: str | None = field(default=None, repr=False)
    """Value of `Proxy-Authorization`; None without credentials."""


def basic(user: str, password: str) -> str:
    """Return the value of `Proxy-Authorization` for Basic authentication (RFC 7617, 2)."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


async def open_tunnel(proxy: Proxy, target: str, *, until_s: float) -> asyncio.Transport:
    """Return a transport whose other end is `target`.

    Args:
        target: host and port, as in the request line of CONNECT.
        until_s: deadline, in event-loop time (seconds).

    Raises:
        UpstreamFailed: with a cause of the table.
    """
    transport, tunnel = await _reach(proxy, until_s)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", "User-Agent: sovctl-gateway"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    transport.write("\r\n".join([*lines, "", ""]).encode("ascii"))
    try:
        try:
            async with asyncio.timeout_at(until_s):
                status = await tunnel.status
        except TimeoutError:
            raise UpstreamFailed("proxy-timeout") from None
        if tunnel.is_spoiled or status == _NOT_HTTP:
            raise UpstreamFailed("proxy-protocol")
        if status == _PROXY_AUTHENTICATION_REQUIRED:
            raise UpstreamFailed("proxy-407")
        if status >= 300:
            raise UpstreamFailed("proxy-refused")
        if tunnel.is_lost:
            raise UpstreamFailed("proxy-closed")
    except BaseException:
        transport.abort()
        raise
    return transport


async def _reach(proxy: Proxy, until_s: float) -> tuple[asyncio.Transport, _Tunnel]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout_at(until_s):
            return await loop.create_connection(
                _Tunnel, proxy.host, proxy.port, ssl=proxy.tls, server_hostname=proxy.host if proxy.tls else None
            )
    except ssl.SSLError:
        raise UpstreamFailed("proxy-tls") from None
    except (OSError, TimeoutError):
        raise UpstreamFailed("proxy-connect") from None


class _Tunnel(asyncio.Protocol):
    """Receives the answer to CONNECT."""

    def __init__(self) -> None:
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Status of the answer; `_NOT_HTTP` if it is invalid."""
        self.is_spoiled = False
        """Whether bytes came after the head of a 2xx answer. The cloud speaks only after the gateway, so the proxy
        invented them, and TLS must not read them."""
        self.is_lost = False
        self._received = bytearray()

    def data_received(self, data: bytes) -> None:
        if self.status.done():
            self.is_spoiled = True
            return
        self._received += data
        while not self.status.done():
            end = self._received.find(b"\r\n\r\n")
            if end < 0 or end > _MAX_HEAD_BYTES:
                if len(self._received) > _MAX_HEAD_BYTES:
                    self.status.set_result(_NOT_HTTP)
                return
            status = _status_of(bytes(self._received[:end]))
            del self._received[: end + 4]
            if not 100 <= status < 200:  # RFC 9110, 15.2: the final answer follows an interim one
                self.is_spoiled = bool(self._received) and 200 <= status < 300
                self.status.set_result(status)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost = True
        if not self.status.done():
            self.status.set_exception(UpstreamFailed("proxy-closed"))
            self.status.exception()  # retrieved: the waiting task may have been cancelled


def _status_of(head: bytes) -> int:
    """Return the status in the head of an answer; `_NOT_HTTP` if it is invalid."""
    first, *fields = head.split(b"\r\n")
    found = _STATUS_LINE.fullmatch(first)
    if found is None or not all(map(_FIELD_LINE.fullmatch, fields)):
        return _NOT_HTTP
    return int(found[1])
