"""HTTP client of one pooling pool: mutual TLS, replicas with failover, limits, and errors without content.

- Requests take turns among the replicas. After a failure, a request is sent to the next replica.
- A replica that failed in the last `AVOID_S` seconds is used after all others.
- A rejected text (status 4xx) is not sent again, because every replica has the same model.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import Any

import aiohttp

from sovctl.support.errors import InputError, SovctlError
from sovctl.support.secret_files import read_api_key

from .settings import PoolSettings

AVOID_S = 10.0
"""Seconds without requests to a replica that failed, while another responds. Chosen 2026-11-29."""
_CONNECT_S = 5.0
"""Seconds to connect, TLS included. Chosen 2026-11-29: a node without power must not cost a search its deadline."""
_MAX_ANSWER_BYTES = 256 << 20  # 2,048 vectors of 16,000 numbers in text


class PoolUnavailable(SovctlError):
    """The pool does not answer, or answers with a server error or an invalid answer."""


class PoolRefused(SovctlError):
    """The pool rejects the texts, for example because one is longer than the context of the model."""


class PoolClient:
    """Connections to one pool. The session opens at the first request, in the running event loop.

    Raises:
        InputError: a certificate, key or API key is unusable.
    """

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._tls = _tls(settings)
        self._headers = {}
        if settings.api_key_file is not None:
            self._headers["Authorization"] = f"Bearer {read_api_key(settings.api_key_file)}"
        self._slots = asyncio.Semaphore(settings.concurrent_requests)
        self._session: aiohttp.ClientSession | None = None
        self._urls = [str(url).rstrip("/") for url in settings.base_urls]
        self._turns = itertools.count()
        self._failed_at: dict[str, float] = {}

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the JSON answer to a request.

        Raises:
            PoolUnavailable: no replica has a valid answer.
            PoolRefused: a replica rejects the texts.
        """
        async with self._slots:
            failure = PoolUnavailable("no replica", where=self._place)
            for url in self._order():
                try:
                    answer = await self._post(url, path, body)
                except PoolUnavailable as error:
                    self._failed_at[url], failure = time.monotonic(), error
                else:
                    self._failed_at.pop(url, None)
                    return answer
            raise failure

    def _order(self) -> list[str]:
        """Return all replicas: first the one whose turn it is, last those that failed recently."""
        first = next(self._turns) % len(self._urls)
        since = time.monotonic() - AVOID_S
        return sorted(
            self._urls[first:] + self._urls[:first], key=lambda url: self._failed_at.get(url, since - 1) > since
        )

    async def _post(self, url: str, path: str, body: dict[str, Any]) -> Any:
        try:
            async with self._opened().post(url + path, json=body, headers=self._headers) as answer:
                content = await answer.content.read(_MAX_ANSWER_BYTES + 1)
                while not answer.content.at_eof() and len(content) <= _MAX_ANSWER_BYTES:
                    content += await answer.content.read(_MAX_ANSWER_BYTES + 1)
                return self._answer(answer.status, content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise PoolUnavailable(f"no answer: {type(error).__name__}", where=self._place) from error

    @property
    def _place(self) -> str:
        return f"pool of {self._settings.model}"

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._tls if self._tls is not None else True)
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_s, sock_connect=_CONNECT_S)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)
        return self._session

    def _answer(self, status: int, content: bytes) -> Any:
        if 400 <= status < 500 and status not in (401, 403, 404, 408, 429):
            hint = "make the texts shorter, for example with --chunk-tokens"
            raise PoolRefused(f"the pool rejects the texts with status {status}", where=self._place, hint=hint)
        if status != 200 or len(content) > _MAX_ANSWER_BYTES:
            raise PoolUnavailable(f"expected status 200, got {status}", where=self._place)
        import orjson

        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise PoolUnavailable("the answer is not JSON", where=self._place) from error

    def invalid(self, message: str) -> PoolUnavailable:
        """Return the error of an answer that does not fit its request."""
        return PoolUnavailable(f"invalid answer: {message}", where=self._place)


def batches(texts: Sequence[str], settings: PoolSettings) -> Iterator[list[str]]:
    """Yield the texts in order, in lists within the limits of one request. A longer text is a list of its own."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == settings.batch_texts or characters + len(text) > settings.batch_characters):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _tls(settings: PoolSettings) -> ssl.SSLContext | None:
    if not settings.is_encrypted:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca)
        if settings.certificate is not None:
            context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"certificate or key unusable: {reason}", where=f"pool of {settings.model}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    return context
