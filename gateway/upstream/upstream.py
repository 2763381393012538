"""Sends requests to pools and clouds: server choice, timeouts, retries. Independent of the content.

One `Upstream` is one pool of equal servers or one cloud. `server_choice` determines the order of the servers. If one
fails, the next is tried, within the retry budget and the deadline. A server that keeps failing is skipped for a while
(`breaker`). A server that reports overload, or is far slower than its peers, is tried last until its pause ends. The
load of a pool's servers is read in the background.

    answer = await upstream.post("chat/completions", body, is_stream=True, attempts=attempts)
    async for chunk in answer.chunks(): ...
    answer.release()
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from sovctl.support.secret_files import read_api_key

from ..domain.errors import NOT_SENT, UpstreamFailed
from ..settings import Limits, RoutingSettings, UpstreamKind, UpstreamSettings
from ..telemetry import log
from ..telemetry.gen_ai import provider_of
from .answer import Answer, Attempts
from .breaker import Breaker
from .credentials import Authorization, authorization_of
from .hedging import Hedge, first_of_two
from .load import Load, load_of
from .models_list import MODELS, PROBE_TIMEOUT_S, SILENT, models_problem
from .refusals import OVERLOADED, REFUSALS_OF_PROXIES, refused
from .retry import RetryBudget
from .server import MAX_IN_FLIGHT, Server
from .server_choice import EJECTED_S, FINE, State, Thresholds, order, outliers, state_of
from .tls import proxy_of, tls_context

_STATE_S = 0.01  # lifetime of the computed state; its inputs are about a second old
_MAX_METRICS_BYTES = 8 << 20  # vLLM's are some 50 KB, more with many LoRAs (measured 2026-11)
_CLOSE_IDLE_EVERY = 10  # checks of the servers
# Limits and credentials of this gateway, and idle connections that a server may close at any time.
_NOT_ITS_FAULT = frozenset({"full", "stale", "credentials"})
_UNAUTHORIZED = 401
# Failures after the client's whole timeout; no other server is tried.
_TOO_LATE = frozenset({"timeout", "deadline"})


class _Request(NamedTuple):
    path: str
    body: bytes
    headers: Mapping[str, str] | None
    timeout_s: float
    deadline_s: float | None
    attempts: Attempts
    may_hedge: bool = False
    may_resend: bool = False
    blames_server: bool = True


@dataclass
class Upstream:
    """One pool or cloud. Use as an async context manager."""

    settings: UpstreamSettings
    limits: Limits
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    servers: list[Server] = field(default_factory=list)
    _budget: RetryBudget = field(default_factory=RetryBudget)
    _hedge: Hedge = field(default_factory=Hedge)
    _probed: tuple[float, str] = (-math.inf, "")
    _state: State = FINE
    _state_until_s: float = 0.0
    _authorization: Authorization | None = None
    read_metrics: Callable[[int, bytes], None] | None = None
    """Receives the number of a server and its metrics, each time they were read."""

    def __post_init__(self) -> None:
        settings = self.settings  # reading an attribute of a pydantic model takes ten times as long
        self.name, self.model, self.kind = settings.name, settings.model, settings.kind
        self.route, self.provider = settings.kind.value, provider_of(settings)
        self.may_see_raw_text = settings.kind.may_see_raw_text
        self.tells_principal = settings.send_principal
        self._first_byte_timeout_s, self._answer_timeout_s = settings.first_byte_timeout_s, settings.answer_timeout_s
        self._read_timeout_s = settings.read_timeout_s

    async def __aenter__(self) -> Self:
        settings = self.settings
        headers = {"Accept-Encoding": "identity", "User-Agent": "sovctl-gateway"}
        if settings.api_key_file is not None:
            key, is_bearer = read_api_key(settings.api_key_file), settings.key_header == "authorization"
            headers[settings.key_header] = f"Bearer {key}" if is_bearer else key
        tls, proxy = tls_context(settings), proxy_of(settings)
        self._authorization = authorization_of(settings, proxy)
        self._loop = asyncio.get_running_loop()
        self._random = random.Random()  # noqa: S311 - load balancing, not security
        self._thresholds = Thresholds(self.routing.max_queue, self.routing.max_kv_usage, self.routing.stale_after_s)
        self.servers = [
            Server(
                str(url).rstrip("/"),
                tls=tls,
                headers=headers,
                breaker=Breaker(settings.failures_until_open, settings.down_s),
                connect_timeout_s=settings.connect_timeout_s,
                proxy=proxy,
            )
            for url in settings.base_urls
        ]
        self._checks = asyncio.create_task(self._run_checks(), name=f"upstream {settings.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._checks.cancel()
        await asyncio.gather(self._checks, return_exceptions=True)
        for server in self.servers:
            server.close_idle(longer_than_s=0)

    def as_record(self) -> dict[str, Any]:
        """Return its current state as plain values, for operators."""
        now_s = self._loop.time()
        servers = [server.as_record(now_s, stale_after_s=self.routing.stale_after_s) for server in self.servers]
        asked_at_s, problem = self._probed
        is_silent = bool(problem) and now_s - asked_at_s < self.routing.stale_after_s
        return {"name": self.name, "is_down": is_silent or self.state().is_down, "servers": servers}

    def state(self) -> State:
        """Return the current state, for the router."""
        now_s = self._loop.time()
        if now_s >= self._state_until_s:
            self._state = state_of(self.servers, now_s=now_s, thresholds=self._thresholds)
            self._state_until_s = now_s + _STATE_S
        return self._state

    @property
    def refusal(self) -> str:
        """Why every server rejected this gateway's last request, for the operator; empty if one accepted it or failed
        otherwise."""
        return self.servers[0].refusal if all(server.refusal for server in self.servers) else ""

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        is_stream: bool,
        headers: Mapping[str, str] | None = None,
        key: int | None = None,
        tokens: int = 0,
        deadline_s: float | None = None,
        may_wait: bool = True,
        may_hedge: bool = False,
        may_resend: bool = False,
        attempts: Attempts | None = None,
    ) -> Answer:
        """Send a request until a server answers: to each server at most once, and to one of them again if all are
        overloaded.

        A request that was written and got no answer may have been processed. It is not sent again, unless the client
        or the settings (`routing.resend_unanswered`) permit it.

        Args:
            headers: of this request, in addition to those of every request.
            key: of the conversation, to reach the server with its prefix in the cache.
            tokens: estimated tokens of prompt and answer.
            deadline_s: deadline for the first byte of the answer, in event-loop time (seconds).
            may_wait: wait for an overloaded server, because no other upstream is left.
            may_hedge: the request may be sent to two servers.
            may_resend: the client permits that the request is processed twice.
            attempts: receives every attempt.

        Raises:
            UpstreamFailed: no server gave an answer.
            UpstreamRejected: a server rejected the request itself.
        """
        timeout_s = self._first_byte_timeout_s if is_stream else self._answer_timeout_s
        may_resend = may_resend or self.routing.resend_unanswered
        request = _Request(path, body, headers, timeout_s, deadline_s, attempts or Attempts(), may_hedge, may_resend)
        now_s = self._loop.time()
        self._budget.deposit(now_s)
        cause, after_s = "open", self._hedge.after_s if may_hedge else None
        numbers = iter(self._order(key, tokens, now_s))
        for number in numbers:
            if self.servers[number].is_drained or not self.servers[number].breaker.admits(self._loop.time()):
                continue
            try:
                if after_s is None:
                    return await self._ask(number, request)
                return await first_of_two(
                    partial(self._ask, request=request),
                    number,
                    partial(self._second, numbers),
                    after_s=after_s,
                    attempts=request.attempts,
                )
            except UpstreamFailed as error:
                cause = error.cause
            if cause in NOT_SENT:
                continue
            is_answered = cause.startswith("status-")
            if cause in _TOO_LATE or not (is_answered or may_resend) or not self._budget.withdraw(self._loop.time()):
                raise UpstreamFailed(cause, refusal=self.refusal)
        if may_wait and cause in OVERLOADED:
            admitted = [each for each, server in enumerate(self.servers) if not server.is_drained]
            first = min(admitted, key=lambda each: self.servers[each].busy_until_s, default=None)
            if first is not None and await self._waited_for(first, deadline_s):
                return await self._ask(first, request)
        raise UpstreamFailed(cause, refusal=self.refusal)

    async def post_once(
        self,
        path: str,
        body: bytes,
        is_stream: bool,
        headers: Mapping[str, str] | None,
        key: int | None,
        tokens: int,
        deadline_s: float | None,
        attempts: Attempts,
    ) -> Answer:
        """Send a request to the best server, without a retry; arguments as for `post`.

        An error that the server answers does not count as its failure, because the body refers to another server.

        Raises:
            UpstreamFailed: that server gave no answer, or none may be asked.
            UpstreamRejected: it rejected the request.
        """
        timeout_s = self._first_byte_timeout_s if is_stream else self._answer_timeout_s
        request = _Request(path, body, headers, timeout_s, deadline_s, attempts, blames_server=False)
        now_s = self._loop.time()
        for number in self._order(key, tokens, now_s):
            if not self.servers[number].is_drained and self.servers[number].breaker.admits(now_s):
                return await self._ask(number, request)
        raise UpstreamFailed("open")

    def admitting(self) -> Iterator[tuple[int, Server]]:
        """Yield the servers that may be asked now, with their numbers, the best one first."""
        for number in self._order(None, 0, self._loop.time()):
            server = self.servers[number]
            if server.is_drained or server.in_flight >= MAX_IN_FLIGHT:
                continue
            if server.breaker.admits(self._loop.time()):
                yield number, server

    def _second(self, numbers: Iterator[int]) -> int | None:
        """Return the server for a hedged request; None if no server is available, or the retry budget is used up."""
        now_s, servers = self._loop.time(), self.servers
        if not self._budget.withdraw(now_s):
            return None
        return next(
            (each for each in numbers if servers[each].is_available(now_s) and servers[each].breaker.admits(now_s)),
            None,
        )

    async def models_problem(self) -> str:
        """Return why no server lists its models now; empty if one does. Cached for a second, because of readiness
        probes. An upstream without such a list counts as working unless its last requests failed."""
        if (models := MODELS.get(self.settings.api)) is None:
            return SILENT if self.state().is_down else ""
        asked_at_s, problem = self._probed
        if self._loop.time() - asked_at_s < 1.0:
            return problem
        problem = await models_problem(self.servers, *models)
        self._probed = (self._loop.time(), problem)
        return problem

    def _order(self, key: int | None, tokens: int, now_s: float) -> Iterable[int]:
        """Return the numbers of the servers, the best one first."""
        if len(self.servers) == 1:
            return (0,)
        return order(
            self.servers,
            key=key,
            tokens=tokens,
            now_s=now_s,
            thresholds=self._thresholds,
            draw=self._random.randrange,
        )

    async def _ask(self, number: int, request: _Request) -> Answer:
        """Send the request to one server.

        Raises:
            UpstreamFailed: no answer.
            UpstreamRejected: the server rejected the request itself.
        """
        server, timeout_s = self.servers[number], request.timeout_s
        if request.deadline_s is not None:
            left_s = request.deadline_s - self._loop.time()
            if left_s <= 0:
                raise UpstreamFailed("deadline")
            timeout_s = min(timeout_s, left_s)
        attempt = request.attempts.begin(f"{self.name}/{number}")
        asked_s = self._loop.time()
        headers = request.headers
        try:
            if self._authorization is not None:
                headers = {**(headers or {}), **await self._authorized(server, request, timeout_s)}
            connection = await server.post(
                request.path,
                request.body,
                timeout_s=timeout_s,
                read_timeout_s=self._read_timeout_s,
                headers=headers,
                may_resend=request.may_resend,
            )
        except asyncio.CancelledError:
            self._record_latency(request, asked_s)  # a lower bound
            raise
        except UpstreamFailed as error:
            cause, server.refusal = error.cause, REFUSALS_OF_PROXIES.get(error.cause, "")
            if cause == "timeout" and timeout_s < request.timeout_s:
                cause = "deadline"  # the client's timeout, not a failure of the server
            elif cause not in _NOT_ITS_FAULT:
                server.failed()
            request.attempts.end(attempt, cause)
            raise UpstreamFailed(cause) from None
        if connection.status == _UNAUTHORIZED and self._authorization is not None:
            self._authorization.rejected()
        answer = Answer(connection, server, request.attempts, attempt, blames_server=request.blames_server)
        if connection.status == 200:
            server.breaker.answered()
            server.busy_until_s, server.refusal = 0.0, ""
            server.answered_s = self._loop.time()
            server.latencies_s.append(server.answered_s - asked_s)
            self._record_latency(request, asked_s)
            return answer
        raise await refused(server, answer, max_answer_bytes=self.limits.max_answer_bytes, now_s=self._loop.time())

    async def _authorized(self, server: Server, request: _Request, timeout_s: float) -> Mapping[str, str]:
        """Return the headers that authorize the request.

        Raises:
            UpstreamFailed: credentials are absent or expired (`credentials`).
        """
        assert self._authorization is not None
        authority, target = server.address.authority, server.target(request.path)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._authorization.headers(authority=authority, target=target, body=request.body)
        except TimeoutError:
            raise UpstreamFailed("credentials") from None

    def _record_latency(self, request: _Request, asked_s: float) -> None:
        if request.may_hedge:
            self._hedge.took(self._loop.time() - asked_s)

    async def _waited_for(self, number: int, deadline_s: float | None) -> bool:
        """Wait for an overloaded server; return whether it may be tried again."""
        now_s = self._loop.time()
        until_s = max(now_s, self.servers[number].busy_until_s)
        if until_s - now_s > self.settings.max_retry_after_s or (deadline_s is not None and until_s >= deadline_s):
            return False
        if not self._budget.withdraw(now_s):
            return False
        await asyncio.sleep(until_s - now_s)
        return True

    async def _run_checks(self) -> None:
        """Read the servers' load, detect outliers, and close idle connections."""
        looks = 0
        while True:
            if self.kind is UpstreamKind.POOL:
                await asyncio.gather(*(self._look_at(server) for server in self.servers))
            self._eject()
            if self.routing.hedge:
                self._hedge.refresh()
            looks += 1
            if looks % _CLOSE_IDLE_EVERY == 0:
                for server in self.servers:
                    server.close_idle()
            await asyncio.sleep(self.routing.scrape_every_s)

    async def load_of(self, server: Server) -> Load | None:
        """Return the current load of a server; None if it does not report it."""
        in_flight = server.in_flight
        try:
            status, metrics = await server.get(
                server.path.removesuffix("/v1") + "/metrics",
                timeout_s=min(PROBE_TIMEOUT_S, self.routing.stale_after_s),
                at_most=_MAX_METRICS_BYTES,
            )
        except UpstreamFailed:
            return None
        if self.read_metrics is not None and status == 200:
            self.read_metrics(self.servers.index(server), metrics)
        return load_of(metrics, now_s=self._loop.time(), in_flight=in_flight) if status == 200 else None

    async def _look_at(self, server: Server) -> None:
        load = await self.load_of(server)
        if load is not None:  # otherwise the previous load expires by itself
            server.load = load

    def _eject(self) -> None:
        now_s = self._loop.time()
        asked = [server for server in self.servers if server.ejected_until_s <= now_s]
        most = len(self.servers) // 2 - (len(self.servers) - len(asked))
        for number in outliers([server.latencies_s for server in asked])[: max(0, most)]:
            asked[number].ejected_until_s = now_s + EJECTED_S
            asked[number].latencies_s.clear()
            log.event("slow server ejected", level=30, upstream=self.name, server=number)
