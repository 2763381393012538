"""Talks to pools and clouds: TLS, deadlines, the least busy server first. Decides nothing about content.

One `Upstream` is one pool of equal servers or one cloud. A request goes to the server with the fewest of our requests
in flight; one that can't be connected to, or says it is overloaded, is followed by the next one. After
`_FAILURES_UNTIL_DOWN` failures in a row an upstream counts as down for
`down_s` seconds, and `route` puts it last.

    answer = await upstream.post("chat/completions", body, is_stream=True)
    async for chunk in answer.chunks(): ...
    answer.release()
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp

from sovctl.compliance.errors import InputError
from sovctl.gateway.errors import UpstreamFailed, UpstreamRejected
from sovctl.gateway.keyfiles import read_secret
from sovctl.gateway.settings import Limits, UpstreamSettings

_FAILURES_UNTIL_DOWN = 3
_CONNECTIONS = 1024  # per upstream; vLLM queues at max_num_queued_reqs (1,024 in site.yaml) and then answers 503
_PROBE_TIMEOUT_S = 2.0
_REJECTED = frozenset({400, 404, 409, 413, 422})
_CONTEXT_WORDS = (b"context length", b"context_length", b"max_model_len", b"maximum context")


@dataclass
class _Server:
    url: str
    in_flight: int = 0


@dataclass
class Answer:
    """The answer of an upstream that has begun with status 200. Call `release` when done with it."""

    _response: aiohttp.ClientResponse
    _server: _Server
    _read_timeout_s: float
    _is_released: bool = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """Pieces as they come.

        Raises:
            UpstreamFailed: it stopped in the middle, or paused longer than allowed.
        """
        while True:
            try:
                async with asyncio.timeout(self._read_timeout_s):
                    chunk = await self._response.content.readany()
            except TimeoutError:
                raise UpstreamFailed("stalled") from None
            except (aiohttp.ClientError, OSError):
                raise UpstreamFailed("broken") from None
            if not chunk:
                return
            yield chunk

    async def read(self, *, at_most: int) -> bytes:
        """The whole body.

        Raises:
            UpstreamFailed: it is longer than `at_most` bytes, or as for `chunks`.
        """
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > at_most:
                raise UpstreamFailed("too-large")
        return bytes(body)

    def release(self) -> None:
        """Give the connection back, or close it when the answer was not read to its end."""
        if not self._is_released:
            self._is_released = True
            self._server.in_flight -= 1
            self._response.release()


@dataclass
class Upstream:
    """One pool or cloud. Use as an async context manager."""

    settings: UpstreamSettings
    limits: Limits
    _servers: list[_Server] = field(default_factory=list)
    _failures: int = 0
    _down_until: float = 0.0
    _probed: tuple[float, bool] = (0.0, False)

    async def __aenter__(self) -> Self:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "sovctl-gateway"}
        if self.settings.api_key_file is not None:
            key, is_bearer = read_secret(self.settings.api_key_file), self.settings.api_key_header == "authorization"
            headers[self.settings.api_key_header] = f"Bearer {key}" if is_bearer else key
        self._servers = [_Server(str(url).rstrip("/")) for url in self.settings.base_urls]
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=tls_context(self.settings) or True, limit=_CONNECTIONS, keepalive_timeout=30
            ),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.settings.connect_timeout_s),
            trust_env=False,  # a proxy in the environment is a way out that nobody planned
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    @property
    def is_down(self) -> bool:
        """True while the last attempts all failed and that is not long ago."""
        return time.monotonic() < self._down_until

    async def post(
        self, path: str, body: bytes, *, is_stream: bool, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request; every server once at most.

        Args:
            headers: of this request, beside those of every request.

        Raises:
            UpstreamFailed: no server gave an answer.
            UpstreamRejected: a server says that the request is wrong.
        """
        cause = "connect"
        for server in sorted(self._servers, key=lambda server: server.in_flight):
            try:
                answer = await self._post(server, path, body, is_stream=is_stream, headers=headers)
            except UpstreamFailed as error:
                cause = error.cause
                if cause == "timeout":
                    break  # the client has waited long enough for one
                continue
            self._failures, self._down_until = 0, 0.0
            return answer
        self.note_failure()
        raise UpstreamFailed(cause)

    def note_failure(self) -> None:
        """An attempt failed; also called when an answer breaks off before the client got any of it."""
        self._failures += 1
        if self._failures >= _FAILURES_UNTIL_DOWN:
            self._down_until = time.monotonic() + self.settings.down_s

    async def answers(self) -> bool:
        """True when a server lists its models now; remembered for a second, so that probes cost nothing."""
        asked_at, answered = self._probed
        if time.monotonic() - asked_at < 1.0:
            return answered
        answered = False
        for server in self._servers:
            try:
                async with (
                    asyncio.timeout(_PROBE_TIMEOUT_S),
                    self._session.get(f"{server.url}/models", allow_redirects=False) as response,
                ):
                    answered = response.status == 200
            except (TimeoutError, aiohttp.ClientError, OSError):
                continue
            if answered:
                break
        self._probed = (time.monotonic(), answered)
        return answered

    async def _post(
        self, server: _Server, path: str, body: bytes, *, is_stream: bool, headers: Mapping[str, str] | None
    ) -> Answer:
        server.in_flight += 1
        deadline_s = self.settings.first_byte_timeout_s if is_stream else self.settings.answer_timeout_s
        try:
            async with asyncio.timeout(deadline_s):
                response = await self._session.post(
                    f"{server.url}/{path}", data=body, headers=headers, allow_redirects=False
                )
        except BaseException as error:
            server.in_flight -= 1
            if isinstance(error, TimeoutError):
                is_connecting = isinstance(error, aiohttp.ServerTimeoutError)
                raise UpstreamFailed("connect" if is_connecting else "timeout") from None
            if isinstance(error, aiohttp.ClientError | OSError):
                raise UpstreamFailed(
                    "connect" if isinstance(error, aiohttp.ClientConnectorError) else "broken"
                ) from None
            raise
        answer = Answer(response, server, self.settings.read_timeout_s)
        if response.status == 200:
            return answer
        try:
            if response.status in _REJECTED:
                # Read to see why; what it says may repeat the prompt, so it goes nowhere.
                said = (await answer.read(at_most=self.limits.max_answer_bytes)).lower()
                raise UpstreamRejected(is_too_long=any(word in said for word in _CONTEXT_WORDS))
            raise UpstreamFailed(f"status-{response.status}")
        finally:
            answer.release()


def tls_context(settings: UpstreamSettings) -> ssl.SSLContext | None:
    """How to trust the upstream and show who we are; None when all its URLs are plain http on this machine.

    Raises:
        InputError: a certificate or key can't be used.
    """
    if all(url.scheme == "http" for url in settings.base_urls):
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"expected usable TLS files, got: {reason}", where=f"upstreams: {settings.name}", hint="ca_file, key_file"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    return context
