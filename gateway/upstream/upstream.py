"""Talks to pools and clouds: which server, how long, how often. Decides nothing about content.

One `Upstream` is one pool of equal servers or one cloud. A request goes to the server with the fewest of our requests
in flight; one that fails is followed by the next, as far as the retry budget goes and the deadline allows. A server
that keeps failing is left alone for a while (`breaker`), one that says it is overloaded is asked last until then.

    answer = await upstream.post("chat/completions", body, is_stream=True, attempts=attempts)
    async for chunk in answer.chunks(): ...
    answer.release()
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from sovctl.gateway.errors import UpstreamFailed, UpstreamRejected
from sovctl.gateway.keyfiles import read_secret
from sovctl.gateway.settings import Limits, UpstreamSettings
from sovctl.gateway.upstream.answer import Answer, Attempts
from sovctl.gateway.upstream.breaker import Breaker
from sovctl.gateway.upstream.retry import RetryBudget, retry_after_s
from sovctl.gateway.upstream.server import Server
from sovctl.gateway.upstream.tls import tls_context

_PROBE_TIMEOUT_S = 2.0
_TEND_EVERY_S = 10.0  # idle connections are closed that often, give or take
_REJECTED = frozenset({400, 404, 409, 413, 422})
_CONTEXT_WORDS = (b"context length", b"context_length", b"max_model_len", b"maximum context")
_OVERLOADED = frozenset({"status-429", "status-503"})
_BUSY_S = 1.0  # how long an overloaded server that does not say how long is asked last
_LONGEST_BUSY_S = 60.0  # a wrong clock over there must not take a server away for long
# The request did not get there, or was not taken up: asking another server puts no load on anybody twice.
_NOT_SENT = frozenset({"connect", "tls", "full"})
# The client has waited long enough for one answer.
_TOO_LATE = frozenset({"timeout", "deadline"})


@dataclass(frozen=True, slots=True)
class _Request:
    path: str
    body: bytes
    headers: Mapping[str, str] | None
    timeout_s: float
    deadline_s: float | None
    attempts: Attempts


@dataclass
class Upstream:
    """One pool or cloud. Use as an async context manager."""

    settings: UpstreamSettings
    limits: Limits
    servers: list[Server] = field(default_factory=list)
    _budget: RetryBudget = field(default_factory=RetryBudget)
    _probed: tuple[float, bool] = (0.0, False)

    async def __aenter__(self) -> Self:
        settings = self.settings
        headers = {"Accept-Encoding": "identity", "User-Agent": "sovctl-gateway"}
        if settings.api_key_file is not None:
            key, is_bearer = read_secret(settings.api_key_file), settings.api_key_header == "authorization"
            headers[settings.api_key_header] = f"Bearer {key}" if is_bearer else key
        tls = tls_context(settings)
        self._loop = asyncio.get_running_loop()
        self.servers = [
            Server(
                str(url).rstrip("/"),
                tls=tls,
                headers=headers,
                breaker=Breaker(settings.failures_until_open, settings.down_s),
                connect_timeout_s=settings.connect_timeout_s,
            )
            for url in settings.base_urls
        ]
        self._tending = asyncio.create_task(self._tend(), name=f"upstream {settings.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tending.cancel()
        for server in self.servers:
            server.close_idle(longer_than_s=0)

    def state(self) -> dict[str, Any]:
        """What it is doing now, as plain values."""
        now_s = self._loop.time()
        servers = [
            {
                "url": server.url,
                "in_flight": server.in_flight,
                "circuit": server.breaker.state(now_s).value,
                "is_busy": now_s < server.busy_until_s,
            }
            for server in self.servers
        ]
        return {"name": self.settings.name, "is_down": self.is_down, "servers": servers}

    @property
    def is_down(self) -> bool:
        """True while no server would be asked."""
        now_s = self._loop.time()
        return not any(server.breaker.would_admit(now_s) for server in self.servers)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        is_stream: bool,
        headers: Mapping[str, str] | None = None,
        deadline_s: float | None = None,
        may_wait: bool = True,
        attempts: Attempts | None = None,
    ) -> Answer:
        """Send a request; every server once at most, and one of them once more when all are overloaded.

        Args:
            headers: of this request, beside those of every request.
            deadline_s: when an answer must have begun, by the loop's clock.
            may_wait: there is no other upstream to go to, so waiting a little for this one is right.
            attempts: where every attempt is noted.

        Raises:
            UpstreamFailed: no server gave an answer.
            UpstreamRejected: a server says that the request is wrong.
        """
        timeout_s = self.settings.first_byte_timeout_s if is_stream else self.settings.answer_timeout_s
        request = _Request(path, body, headers, timeout_s, deadline_s, attempts or Attempts())
        self._budget.deposit(self._loop.time())
        cause = "open"
        for number in self._order():
            if not self.servers[number].breaker.admits(self._loop.time()):
                continue
            try:
                return await self._ask(number, request)
            except UpstreamFailed as error:
                cause = error.cause
            if cause in _TOO_LATE or (cause not in _NOT_SENT and not self._budget.withdraw(self._loop.time())):
                raise UpstreamFailed(cause)
        if may_wait and cause in _OVERLOADED:
            number = min(range(len(self.servers)), key=lambda each: self.servers[each].busy_until_s)
            if await self._waited_for(number, deadline_s):
                return await self._ask(number, request)
        raise UpstreamFailed(cause)

    async def answers(self) -> bool:
        """True when a server lists its models now; remembered for a second, so that probes cost nothing."""
        asked_at_s, answered = self._probed
        if self._loop.time() - asked_at_s < 1.0:
            return answered
        answered = False
        for server in self.servers:
            try:
                connection = await server.get(f"{server.path}/models", timeout_s=_PROBE_TIMEOUT_S)
            except UpstreamFailed:
                continue
            answered = connection.status == 200
            await Answer(connection, server).discard()
            if answered:
                break
        self._probed = (self._loop.time(), answered)
        return answered

    def _order(self) -> list[int]:
        """Numbers of the servers, the best one first."""
        servers = self.servers
        if len(servers) == 1:
            return [0]
        now_s = self._loop.time()
        return sorted(range(len(servers)), key=lambda n: (servers[n].busy_until_s > now_s, servers[n].in_flight))

    async def _ask(self, number: int, request: _Request) -> Answer:
        """Ask one server.

        Raises:
            UpstreamFailed: no answer.
            UpstreamRejected: the request is wrong.
        """
        server, timeout_s = self.servers[number], request.timeout_s
        if request.deadline_s is not None:
            left_s = request.deadline_s - self._loop.time()
            if left_s <= 0:
                raise UpstreamFailed("deadline")
            timeout_s = min(timeout_s, left_s)
        attempt = request.attempts.begin(f"{self.settings.name}/{number}")
        try:
            connection = await server.post(
                request.path,
                request.body,
                timeout_s=timeout_s,
                read_timeout_s=self.settings.read_timeout_s,
                headers=request.headers,
            )
        except UpstreamFailed as error:
            cause = error.cause
            if cause == "timeout" and timeout_s < request.timeout_s:
                cause = "deadline"  # it was the client's patience, which says nothing about the server
            elif cause != "full":
                server.failed()
            request.attempts.end(attempt, cause)
            raise UpstreamFailed(cause) from None
        answer = Answer(connection, server, request.attempts, attempt)
        if connection.status == 200:
            server.breaker.answered()
            server.busy_until_s = 0.0
            return answer
        raise await self._refusal(server, answer)

    async def _refusal(self, server: Server, answer: Answer) -> UpstreamRejected | UpstreamFailed:
        """What a status other than 200 means. What it says may repeat the prompt, so it goes nowhere."""
        try:
            if answer.status in _REJECTED:
                said = (await answer.read(at_most=self.limits.max_answer_bytes)).lower()
                error = UpstreamRejected(is_too_long=any(word in said for word in _CONTEXT_WORDS))
                server.breaker.succeeded()
                answer.note(str(error))
                return error
            cause = f"status-{answer.status}"
            if cause in _OVERLOADED:
                asked_s = retry_after_s(answer.header(b"retry-after"), now=datetime.now(UTC))
                server.busy_until_s = self._loop.time() + min(_BUSY_S if asked_s is None else asked_s, _LONGEST_BUSY_S)
                answer.note(cause)
            else:
                answer.failed(cause)
            await answer.discard()
            return UpstreamFailed(cause)
        finally:
            answer.release()

    async def _waited_for(self, number: int, deadline_s: float | None) -> bool:
        """True when an overloaded server was waited for, and may be asked once more."""
        now_s = self._loop.time()
        until_s = max(now_s, self.servers[number].busy_until_s)
        if until_s - now_s > self.settings.max_retry_after_s or (deadline_s is not None and until_s >= deadline_s):
            return False
        if not self._budget.withdraw(now_s):
            return False
        await asyncio.sleep(until_s - now_s)
        return True

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(_TEND_EVERY_S)
            for server in self.servers:
                server.close_idle()
