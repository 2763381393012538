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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from sovctl.support.secret_files import read_api_key

from ..domain.errors import NOT_SENT, Rejection, UpstreamFailed, UpstreamRejected
from ..settings import Limits, RoutingSettings, UpstreamApi, UpstreamKind, UpstreamSettings
from ..telemetry import log
from ..telemetry.gen_ai import provider_of
from .answer import Answer, Attempts
from .breaker import Breaker
from .credentials import Authorization, authorization_of
from .hedging import Hedge, first_of_two
from .load import Load, load_of
from .retry import RetryBudget, retry_after_s
from .server import Server
from .server_choice import EJECTED_S, FINE, State, Thresholds, order, outliers, state_of
from .tls import proxy_of, tls_context

_PROBE_TIMEOUT_S = 2.0
_SILENT = "doesn't answer"
_STATE_S = 0.01  # lifetime of the computed state; its inputs are about a second old
_MAX_LISTED = 1 << 20  # bytes of a list of models
_MAX_METRICS_BYTES = 8 << 20  # vLLM's are some 50 KB, more with many LoRAs (measured 2026-11)
_CLOSE_IDLE_EVERY = 10  # checks of the servers
_REJECTED = frozenset({400, 409, 413, 422})
_ABSENT = frozenset({404, 405})  # API or model not found there: an error in the settings, and other servers may have it
# Errors that last until the operator changes the settings, or the account at the provider.
_REFUSALS = {
    **dict.fromkeys((401, 402, 403), "rejects the gateway key"),
    **dict.fromkeys(_ABSENT, "lacks the API or model"),
    **dict.fromkeys((301, 302, 307, 308), "has another address"),
}
_REFUSALS_OF_PROXIES = {"proxy-407": "its proxy rejects the user and password of the gateway: proxy-407"}
# Firewalls also answer 403, for single texts, mostly with a web page (AWS, Cloudflare; issues of LiteLLM 12421 and
# OpenHands 4480, read 2026-11).
_FORBIDDEN = 403
_KEY_HOLDS_S = 60.0  # a revoked key is reported after one minute (chosen, 2026-11)
_MAX_ERROR_BYTES = 64 << 10
_CONTEXT_WORDS = (
    *(b"context length", b"context_length", b"max_model_len", b"maximum context"),  # vLLM, OpenAI
    *(b"prompt is too long", b"input is too long"),  # Anthropic, Bedrock (docs, "Errors"; read 2026-11)
)
# 529: `overloaded_error` of Anthropic (docs, "Errors"; read 2026-11).
_OVERLOADED = frozenset({"status-429", "status-503", "status-529"})
_BUSY_S = 1.0  # pause of an overloaded server without `retry-after`
_MAX_BUSY_S = 60.0  # upper bound, in case of a wrong clock at the server
# Limits and credentials of this gateway, and idle connections that a server may close at any time.
_NOT_ITS_FAULT = frozenset({"full", "stale", "credentials"})
_UNAUTHORIZED = 401
# Lists of models that show whether an upstream answers, with the headers that they need. On Bedrock and Vertex, reading
# such a list needs other permissions than a request.
_MODELS: dict[UpstreamApi, tuple[str, Mapping[str, str]]] = {
    UpstreamApi.OPENAI: ("models", {}),
    UpstreamApi.AZURE_OPENAI: ("openai/v1/models", {}),
    UpstreamApi.ANTHROPIC: ("models", {"anthropic-version": "2023-06-01"}),
}
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
        if may_wait and cause in _OVERLOADED:
            admitted = [each for each, server in enumerate(self.servers) if not server.is_drained]
            first = min(admitted, key=lambda each: self.servers[each].busy_until_s, default=None)
            if first is not None and await self._waited_for(first, deadline_s):
                return await self._ask(first, request)
        raise UpstreamFailed(cause, refusal=self.refusal)

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
        if (models := _MODELS.get(self.settings.api)) is None:
            return _SILENT if self.state().is_down else ""
        asked_at_s, problem = self._probed
        if self._loop.time() - asked_at_s < 1.0:
            return problem
        problems = await asyncio.gather(*(_models_problem(server, *models) for server in self.servers))
        problem = "" if "" in problems else next((each for each in problems if each != _SILENT), _SILENT)
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
            cause, server.refusal = error.cause, _REFUSALS_OF_PROXIES.get(error.cause, "")
            if cause == "timeout" and timeout_s < request.timeout_s:
                cause = "deadline"  # the client's timeout, not a failure of the server
            elif cause not in _NOT_ITS_FAULT:
                server.failed()
            request.attempts.end(attempt, cause)
            raise UpstreamFailed(cause) from None
        if connection.status == _UNAUTHORIZED and self._authorization is not None:
            self._authorization.rejected()
        answer = Answer(connection, server, request.attempts, attempt)
        if connection.status == 200:
            server.breaker.answered()
            server.busy_until_s, server.refusal = 0.0, ""
            server.answered_s = self._loop.time()
            server.latencies_s.append(server.answered_s - asked_s)
            self._record_latency(request, asked_s)
            return answer
        raise await self._refusal(server, answer)

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

    async def _refusal(self, server: Server, answer: Answer) -> UpstreamRejected | UpstreamFailed:
        """Return the error for a status other than 200. The body may repeat the prompt, so it is not included."""
        try:
            if answer.status in _REJECTED:
                said = (await answer.read(at_most=self.limits.max_answer_bytes)).lower()
                is_too_long = any(word in said for word in _CONTEXT_WORDS)
                server.refusal = ""
                return _rejected(server, answer, Rejection.TOO_LONG if is_too_long else Rejection.PARAMETERS)
            if answer.status == _FORBIDDEN and await self._is_of_this_request(server, answer):
                return _rejected(server, answer, Rejection.FIREWALL)
            cause = f"status-{answer.status}"
            if cause in _OVERLOADED:
                asked_s = retry_after_s(answer.header(b"retry-after"), now=datetime.now(UTC))
                server.busy_until_s = self._loop.time() + min(_BUSY_S if asked_s is None else asked_s, _MAX_BUSY_S)
                answer.note(cause)
            elif answer.status in _ABSENT:  # the server works, and may serve other APIs
                server.breaker.succeeded()
                answer.note(cause)
            else:
                answer.failed(cause)
            await answer.discard()
            server.refusal = _refusal_in(answer.status)
            return UpstreamFailed(cause, refusal=server.refusal)
        finally:
            answer.release()

    async def _is_of_this_request(self, server: Server, answer: Answer) -> bool:
        """Return whether a 403 is unrelated to the key: other requests succeeded within a minute, or the response is
        not an API's JSON."""
        try:
            is_api = isinstance(orjson.loads(await answer.read(at_most=_MAX_ERROR_BYTES)), dict)
        except (orjson.JSONDecodeError, UpstreamFailed):
            is_api = False
        return not is_api or self._loop.time() - server.answered_s < _KEY_HOLDS_S

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
                timeout_s=min(_PROBE_TIMEOUT_S, self.routing.stale_after_s),
                at_most=_MAX_METRICS_BYTES,
            )
        except UpstreamFailed:
            return None
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


def _rejected(server: Server, answer: Answer, why: Rejection) -> UpstreamRejected:
    """Return the error for a rejected request; its server counts as working."""
    server.breaker.succeeded()
    answer.note(why.value)
    return UpstreamRejected(why)


def _refusal_in(status: int) -> str:
    """Return the configuration error that a status indicates; empty if none."""
    said = _REFUSALS.get(status)
    return f"{said}: status-{status}" if said else ""


async def _models_problem(server: Server, path: str, headers: Mapping[str, str]) -> str:
    """Return why a server does not list its models; empty if it does."""
    try:
        status, _ = await server.get(
            server.target(path), timeout_s=_PROBE_TIMEOUT_S, at_most=_MAX_LISTED, headers=headers
        )
    except UpstreamFailed as error:
        return _REFUSALS_OF_PROXIES.get(error.cause, _SILENT)
    return "" if status == 200 else _refusal_in(status) or _SILENT
