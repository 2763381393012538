"""Downloads one file of known size and SHA-256, over HTTP or from a local folder.

- The bytes go to a partial file, which a repeated download continues with a range request.
- The caller receives the file only with its size and SHA-256. Other content is deleted.
- Proxies of the environment are used, because they cannot change an accepted content.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError

BLOCK_BYTES = 1 << 20
ATTEMPTS = 4
TIMEOUT = urllib3.Timeout(connect=20, read=60)  # seconds
_BACKOFF_S = 1.0
"""Wait before the second attempt in seconds; doubled before each further one."""
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP status of errors that may pass (RFC 9110, 15.5 and 15.6)."""


class NotFetched(Exception):
    """A file could not be fetched. Its text is the reason, in lower case, without full stop."""


class Stopped(Exception):
    """The caller stopped all downloads."""


class _MayPass(Exception):
    """An error that may not occur again."""


class Downloader:
    """Connections that all downloads share. Usable from several threads.

    Args:
        report: receives the number of bytes of each block.
        stop: ends all downloads when it is set.
    """

    def __init__(self, *, connections: int, report: Callable[[int], None], stop: threading.Event) -> None:
        self._report, self._stop = report, stop
        self._connections = connections
        self._pools: dict[str, urllib3.PoolManager] = {}
        self._lock = threading.Lock()

    def fetch(self, url: str, partial: Path, *, size: int, sha256: str) -> None:
        """Complete `partial` from a URL with scheme http, https, file or copy, which is apt's name for local files.

        Raises:
            NotFetched: no attempt gave the expected content. An incomplete file remains, for the next call.
            Stopped: the caller set `stop`.
        """
        scheme = urlsplit(url).scheme
        if scheme in ("file", "copy"):
            self.copy(Path(unquote(urlsplit(url).path)), partial, size=size, sha256=sha256)
            return
        if scheme not in ("http", "https"):
            raise NotFetched(f"the URL has scheme {scheme!r}, which is not supported")
        wait_s, reason = _BACKOFF_S, ""
        for attempt in range(ATTEMPTS):
            if attempt and self._stop.wait(wait_s):
                raise Stopped
            wait_s *= 2 if attempt else 1
            try:
                self._receive(url, partial, size)
            except _MayPass as error:
                reason = str(error)
                continue
            _check(partial, size, sha256)
            return
        raise NotFetched(reason)

    def copy(self, source: Path, partial: Path, *, size: int, sha256: str) -> None:
        """Copy a local file to `partial`.

        Raises:
            NotFetched: unreadable, or another content.
        """
        try:
            with source.open("rb") as data:
                self._write(partial, iter(lambda: data.read(BLOCK_BYTES), b""), at=0, size=size)
        except OSError as error:
            raise NotFetched(f"{source}: {(error.strerror or 'unreadable').lower()}") from None
        _check(partial, size, sha256)

    def _receive(self, url: str, partial: Path, size: int) -> None:
        start = partial.stat().st_size if partial.exists() else 0
        if start >= size:  # complete, or of another file
            if start == size:
                return
            start = 0
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            response = self._pool(url).request(
                "GET", url, headers=headers, preload_content=False, decode_content=False, timeout=TIMEOUT, retries=3,
            )  # fmt: skip
        except HTTPError as error:
            raise _MayPass(_words(error)) from None
        try:
            at = _start(response, start)
            self._write(partial, response.stream(BLOCK_BYTES, decode_content=False), at=at, size=size)
        except (HTTPError, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, TimeoutError | ConnectionError):
                raise NotFetched(f"{partial}: {(error.strerror or 'cannot write').lower()}") from None
            raise _MayPass(_words(error)) from None
        finally:
            response.close()  # not returned to the pool: an abandoned body would block its connection
        found = partial.stat().st_size
        if found < size:
            raise _MayPass(f"the connection ended after {found} of {size} bytes")

    def _write(self, partial: Path, blocks: Iterator[bytes], *, at: int, size: int) -> None:
        with partial.open("r+b" if at else "wb") as file:
            file.truncate(at)
            file.seek(at)
            for block in blocks:
                if self._stop.is_set():
                    raise Stopped
                file.write(block)
                self._report(len(block))
                if file.tell() > size:
                    break
            file.flush()
            os.fsync(file.fileno())

    def _pool(self, url: str) -> urllib3.PoolManager:
        parts = urlsplit(url)
        proxy = "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")
        with self._lock:
            if proxy not in self._pools:
                options: dict[str, Any] = {"maxsize": self._connections}
                self._pools[proxy] = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)
            return self._pools[proxy]


def sha256_of(path: Path, stop: threading.Event | None = None) -> str:
    """Return the SHA-256 of a file.

    Raises:
        Stopped: the caller set `stop`.
    """
    digest = hashlib.sha256()
    with path.open("rb") as data:
        while block := data.read(BLOCK_BYTES):
            if stop is not None and stop.is_set():
                raise Stopped
            digest.update(block)
    return digest.hexdigest()


def _start(response: urllib3.BaseHTTPResponse, start: int) -> int:
    """Return the offset at which the body begins: 0 if the server ignores ranges (RFC 9110, 14.2)."""
    if response.status == 206:
        if response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            return start
        raise NotFetched("the server sent another range than requested")
    if response.status == 200:
        return 0
    if response.status in _AGAIN:
        raise _MayPass(f"HTTP status {response.status}")
    raise NotFetched(f"HTTP status {response.status}")


def _check(partial: Path, size: int, sha256: str) -> None:
    found = partial.stat().st_size
    digest = sha256_of(partial) if found == size else ""
    if digest != sha256:
        partial.unlink()
        if found != size:
            raise NotFetched(f"expected {size} bytes, got {'more' if found > size else found}")
        raise NotFetched(f"expected SHA-256 {sha256}, got {digest}")


def _words(error: Exception) -> str:
    """Return the kind of a network error, without URL and address."""
    cause = getattr(error, "reason", None) or error
    name = type(cause).__name__
    return {
        "ReadTimeoutError": "the server sent nothing for 60 s",
        "ConnectTimeoutError": "no connection within 20 s",
        "NewConnectionError": "no connection",
        "NameResolutionError": "the name of the server is unknown",
        "SSLError": "the certificate of the server is not trusted",
        "ProxyError": "no connection through the proxy",
    }.get(name, f"the connection failed: {name}")
