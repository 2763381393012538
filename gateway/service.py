"""Serves one request: joins the nouns and the verbs of this folder, in the order that keeps the promises.

    1  who asks, and for which route                     Refused
    2  what is in it, and where may it go                Refused, or a plan
    3  tokens, second look, vault                        or it doesn't leave
    4  audit record, durable                             or no answer
    5  upstream; the next one of the plan if it fails
    6  answer, values put back; audit record, durable    or not its end

Whatever goes wrong in 2 and 3 narrows the plan to the pool. Nothing here knows HTTP of the client's side: see `app`.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType

import orjson

from sovctl.gateway import log
from sovctl.gateway.access.assertion import HEADER, PrincipalSigner
from sovctl.gateway.access.principal import Principal
from sovctl.gateway.audit import AuditLog
from sovctl.gateway.clean_texts import CleanTexts
from sovctl.gateway.conversation import conversation_of
from sovctl.gateway.delivery import AnswerStream, Delivery
from sovctl.gateway.errors import Code, Headers, Refused, UpstreamFailed, UpstreamRejected
from sovctl.gateway.exchange import Exchange
from sovctl.gateway.inspection import Finder, Inspector
from sovctl.gateway.kinds import Kind
from sovctl.gateway.leaves import TooDeep
from sovctl.gateway.metrics import Metrics
from sovctl.gateway.outgoing import Leak, Outgoing, tokenize_body
from sovctl.gateway.permissions import Policy
from sovctl.gateway.policy import Permit, Reason, Verdict, decide
from sovctl.gateway.quota.admission import Admission, asks_for_usage
from sovctl.gateway.quota.need import NOTHING
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.release.judge import Checks
from sovctl.gateway.restore import RestoreBounds, RestoreCounts
from sovctl.gateway.routing.demand import demand_of
from sovctl.gateway.routing.plan import Plan, candidates_of, plan_route
from sovctl.gateway.routing.servers import WITH_BEGINNING, conversation_key, prefix_key
from sovctl.gateway.settings import GatewaySettings, RouteSettings, UpstreamKind
from sovctl.gateway.surfaces import Surface
from sovctl.gateway.surrogates import demanded
from sovctl.gateway.token_keys import TokenKeys
from sovctl.gateway.tokens import Mint
from sovctl.gateway.upstream import Upstream
from sovctl.gateway.vault import Superseded, Vault

_SALTS = 1024  # tenants whose salts are remembered; one costs 2 us to make again
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Reply:
    """What the client gets."""

    status: int
    route: UpstreamKind
    request_id: str
    content: bytes | AnswerStream
    """A stream is to be closed by whoever sends it, read to its end or not."""
    headers: Headers
    """About the client's limits."""


class Service:
    """Everything a request needs. Made at start, and again when changed settings come into force."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        keys: TokenKeys,
        finder: Finder,
        vault: Vault,
        audit: AuditLog,
        upstreams: Mapping[str, Upstream],
        metrics: Metrics,
        quota: Quota,
        signer: PrincipalSigner | None = None,
        checks: Mapping[str, Checks] = MappingProxyType({}),
        endings: set[asyncio.Task[None]] | None = None,
    ) -> None:
        self.settings = settings
        self.vault = vault
        self.upstreams = upstreams
        self.metrics = metrics
        self._vault_commit_s = metrics.vault_commit_s.at()
        self._keys = keys
        self._finder = CleanTexts(finder)
        self._checks = checks
        self._audit = audit
        self._signer = signer
        self._admission = Admission(settings, quota)
        self._delivery = Delivery(audit, metrics, settings.limits, RestoreBounds.of(settings), endings)
        self._policy = Policy.compile(settings.policy, settings.routes, settings.upstreams)
        self._candidates = candidates_of(settings)
        self._salt = lru_cache(maxsize=_SALTS)(partial(cache_salt, keys.salt))
        self._surrogates = frozenset(Kind(name) for name in settings.tokens.format_preserving)
        self._routes = {route.model: route for route in settings.routes}
        self._upstream_settings = {upstream.name: upstream for upstream in settings.upstreams}

    async def serve(
        self,
        surface: Surface,
        client: Principal,
        raw: bytes,
        *,
        conversation_header: str | None,
        request_id: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float | None = None,
    ) -> Reply:
        """Serve one request.

        Args:
            headers: of the client, those in `surface.client_headers`.
            timeout_s: until an answer must have begun.

        Raises:
            Refused: with the reason code for the client.
        """
        exchange = self._accept(surface, client, raw, conversation_header, request_id, headers)
        if timeout_s is not None:
            exchange.deadline_s = asyncio.get_running_loop().time() + timeout_s
        await self._reserve(exchange)
        try:
            await self._inspect(exchange)
            plan = self._plan(exchange)
            if not plan.upstreams:
                await self._record(exchange, plan.reasons, upstream=None)
                raise Refused(_why_not(exchange.permit, exchange.route))
            return await self._send(exchange, plan)
        except BaseException:
            exchange.settle()
            raise

    async def close(self) -> None:
        """Wait for what is still being recorded."""
        await self._delivery.close()

    def _accept(
        self,
        surface: Surface,
        client: Principal,
        raw: bytes,
        header: str | None,
        request_id: str,
        headers: Mapping[str, str],
    ) -> Exchange:
        started = time.perf_counter()
        body = surface.read(raw, headers)
        if not isinstance(body, dict):
            raise Refused(Code.INVALID_JSON)
        surface.check(body)
        route = self._routes.get(body["model"])
        if route is None:
            raise Refused(Code.MODEL_NOT_FOUND)
        if not client.may_use(route.model):
            raise Refused(Code.ROUTE_NOT_ALLOWED)
        try:
            beginning = () if header is not None else surface.beginning(body)
            conversation, *older = (
                conversation_of(
                    beginning,
                    header=header,
                    tenant=client.tenant,
                    client=client.name,
                    secret=keys.conversation,
                    key_version=keys.version,
                )
                for keys in (self._keys, *self._keys.older)
            )
        except orjson.JSONEncodeError:  # it nests deeper than orjson writes, which is deeper than any limit here
            raise Refused(Code.TOO_DEEP) from None
        except ValueError:
            raise Refused(Code.INVALID_CONVERSATION) from None
        inspector = Inspector(self._finder, surface, max_depth=self.settings.limits.max_depth)
        permissions = self._policy.of(client.tenant, route.model)
        return Exchange(
            surface,
            client,
            route,
            permissions,
            body,
            raw,
            conversation,
            request_id,
            started,
            inspector,
            headers,
            older,
            checks=self._checks.get(route.model),
        )

    async def _reserve(self, exchange: Exchange, *, is_again: bool = False) -> None:
        """Reserve what the request may use.

        Raises:
            Refused: a limit is reached.
        """
        body, surface = exchange.body, exchange.surface
        exchange.reservation = await self._admission.admit(
            exchange.client,
            model=exchange.route.model,
            family=surface.family,
            body=body,
            body_bytes=len(exchange.raw),
            asked=surface.max_answer_tokens(body),
            is_again=is_again,
        )
        if exchange.reservation.accounts and exchange.is_stream and not is_again:
            exchange.hides_usage = asks_for_usage(body, surface.family)

    async def _inspect(self, exchange: Exchange) -> None:
        inspect = exchange.inspector.inspect
        try:
            if exchange.is_large:
                exchange.inspection = await asyncio.to_thread(inspect, exchange.body)
            else:
                exchange.inspection = inspect(exchange.body)
        except TooDeep:
            raise Refused(Code.TOO_DEEP) from None
        except Exception as error:  # noqa: BLE001 - a detector that fails in any way has found nothing out
            log.event("detector failed", level=40, error=error, request_id=exchange.request_id)
            exchange.permit = Permit(Verdict.STAY, (Reason.DETECTOR_FAILED.value,))
            return
        for kind, count in exchange.inspection.counts.items():
            self.metrics.findings.add(kind.value, by=count)
        exchange.permit = decide(exchange.inspection, exchange.permissions)

    def _plan(self, exchange: Exchange) -> Plan:
        assert exchange.permit is not None
        exchange.demand = demand_of(
            exchange.body,
            family=exchange.surface.family,
            body_bytes=len(exchange.raw),
            max_answer_tokens=exchange.surface.max_answer_tokens(exchange.body),
            obstacles=exchange.inspection.obstacles if exchange.inspection is not None else (),
        )
        return plan_route(
            exchange.permit,
            self._candidates[exchange.route.model],
            exchange.demand,
            clouds=exchange.permissions.clouds,
            state=lambda name: self.upstreams[name].state(),
        )

    async def _send(self, exchange: Exchange, plan: Plan) -> Reply:
        """Try the plan's upstreams in order."""
        exchange.reasons = list(plan.reasons)
        failure: UpstreamFailed | UpstreamRejected | None = None
        attempts, has_left = 0, False
        for name in plan.upstreams:
            upstream = self.upstreams[name]
            if upstream.settings.kind.may_see_raw_text:
                exchange.issued, exchange.kept = {}, {}
                data = exchange.surface.write(
                    exchange.body,
                    exchange.raw,
                    exchange.headers,
                    model=upstream.settings.model,
                    cache_salt=self._salt(exchange.client.tenant) if upstream.settings.cache_salt else None,
                )
            else:
                outgoing = await self._tokenized(exchange, upstream)
                if outgoing is None:
                    continue
                exchange.issued = outgoing.issued
                body = exchange.body
                exchange.kept = {key: body[key] for key in exchange.surface.repeated if key in body}
                data = outgoing.data
                has_left = True
            exchange.upstream, exchange.counts = name, RestoreCounts()
            if attempts == 0:
                await self._record(exchange, exchange.reasons, upstream=name)
                self.metrics.added_s.observe(time.perf_counter() - exchange.started, exchange.surface.name)
            else:
                tokens = len(exchange.issued)
                await self._audit.fallback(exchange.request_id, upstream=name, tokens=tokens, reasons=exchange.reasons)
                self.metrics.fallbacks.add()
            attempts += 1
            if exchange.usage is None:  # the one before may have used what was reserved, so this needs its own
                exchange.settle()
                await self._reserve(exchange, is_again=True)
            try:
                return await self._ask(exchange, upstream, data, is_last=name == plan.upstreams[-1])
            except asyncio.CancelledError:
                self._delivery.client_left(exchange)
                raise
            except UpstreamRejected as error:
                failure, exchange.usage = error, NOTHING
                exchange.reasons.append(f"{error}:{name}")
                if not error.is_too_long:
                    break
            except UpstreamFailed as error:
                failure = error
                if error.used_nothing:
                    exchange.usage = NOTHING
                exchange.reasons.append(f"{error.cause}:{name}")
                self.metrics.upstream_failures.add(name, error.cause)
                if error.cause == "deadline":
                    break
                log.event("upstream failed", level=30, upstream=name, cause=error.cause, request_id=exchange.request_id)
        raise await self._failed(exchange, failure, has_left=has_left)

    async def _failed(
        self, exchange: Exchange, failure: UpstreamFailed | UpstreamRejected | None, *, has_left: bool
    ) -> Refused:
        """The refusal that fits the last failure, recorded.

        Args:
            has_left: a cloud was asked as well; otherwise the client is told that nothing left.
        """
        if isinstance(failure, UpstreamFailed) and failure.cause == "deadline":
            code = Code.DEADLINE_EXCEEDED
        elif isinstance(failure, UpstreamRejected):
            code = Code.CONTEXT_LENGTH_EXCEEDED if failure.is_too_long else Code.UPSTREAM_REJECTED
        else:
            code = Code.UPSTREAM_FAILED if has_left else Code.POOL_UNAVAILABLE
        refused = Refused(code)
        await self._audit.answer(
            exchange.request_id,
            status=refused.status,
            upstream=None,
            reason=code.value,
            counts=exchange.counts,
            digest=self._audit.hasher().hexdigest(),
            attempts=exchange.attempts.words(),
        )
        return refused

    async def _tokenized(self, exchange: Exchange, upstream: Upstream) -> Outgoing | None:
        """The body for a cloud, its values in the vault; None when it must not leave after all."""
        try:
            if exchange.older:
                exchange.conversation = await self.vault.living(exchange.older) or exchange.conversation
                exchange.older = ()
            try:
                return await self._tokenized_once(exchange, upstream)
            except Superseded:  # erased since its tokens were made: once more, with tokens that never were
                return await self._tokenized_once(exchange, upstream)
        except Leak as error:
            reason = Reason.SECOND_LOOK.about(str(error))
            log.event("second look found an identifier", level=40, found=str(error), request_id=exchange.request_id)
        except Exception as error:  # noqa: BLE001 - whatever failed here, nothing may leave
            reason = Reason.VAULT_FAILED.value
            log.event("could not tokenize", level=40, error=error, request_id=exchange.request_id)
        exchange.reasons.append(reason)
        return None

    async def _tokenized_once(self, exchange: Exchange, upstream: Upstream) -> Outgoing:
        """The body for a cloud.

        Raises:
            Superseded: the conversation was erased meanwhile.
        """
        conversation, has_text = exchange.conversation, exchange.surface.has_text
        known = await self.vault.load(conversation) if conversation.is_named and has_text else {}
        generation = self.vault.generation(conversation)
        mint = Mint(
            self._keys.of(conversation.key_version).token,
            tenant=conversation.tenant,
            conversation=conversation.key,
            issued=known,
            key_version=conversation.key_version,
            generation=generation,
            surrogates=self._surrogates and self._surrogates & demanded(exchange.inspector.leaves.texts),
        )
        tokenize = partial(
            tokenize_body,
            exchange.body,
            exchange.inspector,
            exchange.permissions,
            mint,
            model=upstream.settings.model,
            dropped=exchange.surface.dropped,
            told=exchange.surface.told,
        )
        outgoing = await asyncio.to_thread(tokenize) if exchange.is_large else tokenize()
        if outgoing.issued and has_text:
            began = time.perf_counter()
            await self.vault.store(conversation, outgoing.issued, generation=generation)
            self._vault_commit_s.observe(time.perf_counter() - began)
        return Outgoing(outgoing.data, {**known, **outgoing.issued} if known else outgoing.issued)

    async def _record(self, exchange: Exchange, reasons: list[str] | tuple[str, ...], *, upstream: str | None) -> None:
        assert exchange.permit is not None
        await self._audit.request(
            exchange.request_id,
            surface=exchange.surface.name,
            client=exchange.client,
            model=exchange.route.model,
            conversation=exchange.conversation,
            is_stream=exchange.is_stream,
            body=exchange.raw,
            inspection=exchange.inspection,
            verdict=exchange.permit.verdict.value,
            upstream=upstream,
            tokens=len(exchange.issued),
            reasons=reasons,
        )

    def _headers(self, exchange: Exchange, upstream: Upstream) -> Mapping[str, str] | None:
        """What an upstream is told beside the body."""
        headers = exchange.surface.passed_on(exchange.headers)
        if not upstream.settings.send_principal or self._signer is None:
            return headers
        name, request_id = upstream.settings.name, exchange.request_id
        told = self._signer.sign(exchange.client, audience=name, request_id=request_id, now=time.time())
        return {**(headers or {}), HEADER: told}

    def _affinity(self, exchange: Exchange, upstream: Upstream) -> int | None:
        """What of a request decides on its server; None when nothing of it will be in anybody's cache."""
        if len(upstream.servers) < 2 or exchange.surface.family not in WITH_BEGINNING:
            return None
        if exchange.conversation.is_named:
            return conversation_key(exchange.conversation.key)
        return prefix_key(exchange.client.tenant, orjson.dumps(exchange.surface.beginning(exchange.body)))

    async def _ask(self, exchange: Exchange, upstream: Upstream, body: bytes, *, is_last: bool) -> Reply:
        sent = time.perf_counter()
        exchange.usage, exchange.price = None, self._admission.price(upstream.settings.name)
        answer = await upstream.post(
            exchange.surface.path,
            body,
            is_stream=exchange.is_stream,
            headers=self._headers(exchange, upstream),
            key=self._affinity(exchange, upstream),
            tokens=exchange.demand.tokens if exchange.demand is not None else 0,
            deadline_s=exchange.deadline_s,
            may_wait=is_last,
            attempts=exchange.attempts,
        )
        if exchange.is_stream:
            content: bytes | AnswerStream = await self._delivery.begin(exchange, answer)
        else:
            content = await self._delivery.whole(exchange, answer)
            exchange.settle()
        route = upstream.settings.kind.value
        self.metrics.first_byte_s.observe(
            time.perf_counter() - sent, exchange.surface.name, exchange.route.model, route
        )
        self.metrics.requests.add(exchange.surface.name, exchange.route.model, route, "200")
        told = self._admission.headers(exchange.reservation)
        return Reply(200, upstream.settings.kind, exchange.request_id, content, told)


def cache_salt(secret: bytes, tenant: str) -> str:
    """A tenant's salt for the prefix caches of pools: 43 characters that nobody can guess, as vLLM advises."""
    return base64.urlsafe_b64encode(hmac.digest(secret, tenant.encode(), "sha256")).decode().rstrip("=")


def _why_not(permit: Permit | None, route: RouteSettings) -> Code:
    """Why no upstream may serve a request."""
    if permit is not None and permit.verdict is Verdict.BLOCK:
        return Code.POLICY_BLOCKED
    if route.pool is None and (permit is None or not permit.verdict.may_leave):
        return Code.STAYS_ON_PREM
    return Code.SURFACE_NOT_SERVED


def new_request_id() -> str:
    """A random id, for the client, the log and the audit records of one request."""
    return secrets.token_hex(16)
