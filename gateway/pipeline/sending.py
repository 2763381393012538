"""Sends a request where its plan says: recorded before it leaves, the next upstream when one fails.

    reply = await sender.send(planned)

What a cloud gets is tokenized first; a pool gets the text itself. When all fail, the client gets the refusal that fits
the last failure, and that is recorded too.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import orjson

from ..access.assertion import HEADER, PrincipalSigner
from ..audit.audit_log import AuditLog, Recording
from ..domain.errors import Code, Headers, Refused, Rejection, UpstreamFailed, UpstreamRejected
from ..exchange.planned import Planned
from ..exchange.sent import Exchange
from ..policy.decision import Reason
from ..quota.need import NOTHING
from ..settings import UpstreamKind
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import TRACEPARENT, Timed, span
from ..tokenization.tokenizer import Tokenizer
from ..tokens.restore import RestoreCounts
from ..upstream import HEDGED, Upstream
from ..upstream.server_choice import WITH_BEGINNING, conversation_key, prefix_key
from .admission import Admission
from .answer_stream import ANSWERED, HANDED_OVER, AnswerStream
from .delivery import Delivery
from .escalation import BadAnswer, Escalation, Made

_NOT_AGAIN = ((b"x-should-retry", b"false"),)  # OpenAI's clients and Anthropic's try a 502 again, unless told so
_REJECTIONS = {
    Rejection.PARAMETERS: Code.UPSTREAM_REJECTED,
    Rejection.TOO_LONG: Code.CONTEXT_LENGTH_EXCEEDED,
    Rejection.FIREWALL: Code.UPSTREAM_BLOCKED,
}
_SALTS = 1024  # tenants whose salts are remembered; one costs 2 us to make again


class Reply(NamedTuple):  # as fast to make as a tuple is
    """What the client gets."""

    status: int
    route: UpstreamKind
    request_id: str
    content: bytes | AnswerStream
    """A stream is to be closed by whoever sends it, read to its end or not."""
    headers: Headers
    """About the client's limits."""


class Sender:
    """Sends requests under one set of settings.

    Args:
        salt_key: what the tenants' cache salts are made with.
        signer: of who is calling, for pools that are told.
    """

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        *,
        tokenizer: Tokenizer,
        delivery: Delivery,
        admission: Admission,
        escalation: Escalation,
        audit: AuditLog,
        metrics: Metrics,
        salt_key: bytes,
        signer: PrincipalSigner | None,
    ) -> None:
        self._upstreams = upstreams
        self._tokenizer = tokenizer
        self._delivery = delivery
        self._admission = admission
        self._escalation = escalation
        self._audit = audit
        self._metrics = metrics
        self._salt = lru_cache(maxsize=_SALTS)(partial(cache_salt, salt_key))
        self._signer = signer

    async def send(self, planned: Planned) -> Reply:
        """Try the plan's upstreams in order.

        Raises:
            Refused: none of them gave an answer.
        """
        exchange = Exchange.of(planned)
        try:
            return await self._try_in_order(exchange)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and exchange.upstream is not None:
                self._delivery.client_left(exchange)
            exchange.settle()
            exchange.request.end_trace_of_error(error, upstream=exchange.upstream, tokens=len(exchange.issued))
            raise

    async def _try_in_order(self, exchange: Exchange) -> Reply:
        failure: UpstreamFailed | UpstreamRejected | None = None
        bad: BadAnswer | None = None
        is_recorded, attempts, has_left = False, 0, False
        for name in exchange.planned.upstreams:
            upstream, draft = self._upstreams[name], None
            if upstream.may_see_raw_text:
                exchange.issued, exchange.kept = {}, {}
                data = exchange.request.surface.write(
                    exchange.body,
                    exchange.request.raw_body,
                    exchange.request.headers,
                    model=upstream.model,
                    cache_salt=self._salt(exchange.request.principal.tenant) if upstream.settings.cache_salt else None,
                )
            else:
                draft = await self._tokenizer.tokenize(exchange, upstream)
                if draft is None:
                    continue
                exchange.issued = draft.outgoing.issued
                body = exchange.body
                exchange.kept = {key: body[key] for key in exchange.request.surface.repeated if key in body}
                data = draft.outgoing.data
            try:
                is_admitted = exchange.usage is not None or await self._admitted_again(exchange, name)
                if is_admitted:
                    exchange.upstream, exchange.counts = name, RestoreCounts()
                    with span(exchange.request.trace, "audit"):
                        await self._record(exchange, name, is_first=not is_recorded)
            except BaseException:
                if draft is not None:
                    draft.give_up()
                raise
            if not is_admitted:
                if draft is not None:
                    draft.give_up()
                continue
            is_recorded = True
            if draft is not None:  # the vault was at it while the record was written
                outgoing = await self._tokenizer.kept(exchange, upstream, draft)
                if outgoing is None:
                    continue
                exchange.issued, data = outgoing.issued, outgoing.data
            if attempts == 0:
                if (shadow := exchange.planned.shadow) is not None:
                    self._metrics.shadow_choices.add(
                        exchange.request.route.model, shadow.complexity, shadow.upstream, name
                    )
                self._metrics.added_s.observe(
                    time.perf_counter() - exchange.request.received_at_s, exchange.request.surface.name
                )
            else:
                self._metrics.fallbacks.add()
            attempts += 1
            has_left = has_left or not upstream.may_see_raw_text
            try:
                return await self._ask(exchange, upstream, data, is_last=name == exchange.planned.upstreams[-1])
            except BadAnswer as error:
                bad = error
                exchange.settle()
                exchange.usage = None
                exchange.reasons.append(f"{error.fault}:{name}")
                exchange.attempts.end_last(error.fault)
            except UpstreamRejected as error:
                failure, exchange.usage = error, NOTHING
                exchange.reasons.append(f"{error}:{name}")
                if error.why.is_everywhere:
                    break
                if error.why is Rejection.FIREWALL:
                    self._metrics.upstream_failures.add(name, error.why.value)
                    log.event("upstream blocked", level=30, upstream=name, request_id=exchange.request.request_id)
            except UpstreamFailed as error:
                if failure is None or not error.refusal:  # what may pass is what the client is told
                    failure = error
                if error.used_nothing:
                    exchange.usage = NOTHING
                exchange.reasons.append(f"{error.cause}:{name}")
                self._metrics.upstream_failures.add(name, error.cause)
                self._escalation.failed(exchange, error)
                if error.cause == "deadline":
                    break
                log.event(
                    "upstream failed",
                    level=40 if error.refusal else 30,
                    upstream=name,
                    cause=error.cause,
                    refusal=error.refusal or None,
                    request_id=exchange.request.request_id,
                )
        if bad is not None:  # better than none
            bad.take_back(exchange)
            with contextlib.suppress(UpstreamFailed):
                return await self._deliver(exchange, bad.made)
        raise await self._failed(exchange, failure, has_left=has_left)

    async def _admitted_again(self, exchange: Exchange, upstream: str) -> bool:
        """True when there is a reservation for this upstream; the one before may have used what was reserved."""
        exchange.settle()
        try:
            admitted = exchange.planned.inspected.admitted
            exchange.reservation = await self._admission.reserve_again(admitted, upstream)
        except Refused as refused:
            exchange.reasons.append(f"{refused.code.value}:{upstream}")
            return False
        exchange.usage = NOTHING
        return True

    def _record(self, exchange: Exchange, upstream: str, *, is_first: bool) -> Recording:
        """Record that a request is about to go there.

        Raises:
            Refused: not durable.
        """
        reasons = exchange.reasons
        if is_first:
            return self._audit.request(
                exchange.planned,
                conversation=exchange.conversation,
                upstream=upstream,
                reasons=reasons,
                tokens=len(exchange.issued),
            )
        tokens = len(exchange.issued)
        return self._audit.fallback(exchange.request.request_id, upstream=upstream, tokens=tokens, reasons=reasons)

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
            code = _REJECTIONS[failure.why]
        elif failure is not None and failure.refusal:
            code = Code.UPSTREAM_MISCONFIGURED
        elif failure is None and Reason.VAULT_FAILED.value in exchange.reasons:
            code = Code.VAULT_UNAVAILABLE
        else:
            code = Code.UPSTREAM_FAILED if has_left else Code.POOL_UNAVAILABLE
        permit, is_lasting = exchange.planned.inspected.permit, code is Code.UPSTREAM_MISCONFIGURED
        is_kept = code is Code.POOL_UNAVAILABLE or (is_lasting and not has_left)
        reasons = permit.reasons if is_kept and not permit.verdict.may_leave else ()
        refused = Refused(code, reasons=reasons, headers=[*_NOT_AGAIN] if is_lasting else None)
        await self._audit.answer(
            exchange.request.request_id,
            status=refused.status,
            upstream=None,
            reason=code.value,
            counts=exchange.counts,
            digest=self._audit.hasher().hexdigest(),
            attempts=exchange.attempts.words(),
        )
        return refused

    def _headers(self, exchange: Exchange, upstream: Upstream, traced: Timed | None) -> Mapping[str, str] | None:
        """What an upstream is told beside the body."""
        headers = exchange.request.surface.passed_on(exchange.request.headers)
        if traced is not None:
            traced.say({"upstream": upstream.name, "upstream_kind": upstream.kind.value})
            if upstream.kind is UpstreamKind.POOL:
                headers = {**(headers or {}), TRACEPARENT: traced.traceparent}
        if not upstream.tells_principal or self._signer is None:
            return headers
        name, request_id = upstream.name, exchange.request.request_id
        told = self._signer.sign(exchange.request.principal, audience=name, request_id=request_id, now=time.time())
        return {**(headers or {}), HEADER: told}

    def _affinity(self, exchange: Exchange, upstream: Upstream) -> int | None:
        """What of a request decides on its server; None when nothing of it will be in anybody's cache."""
        if len(upstream.servers) < 2 or exchange.request.surface.family not in WITH_BEGINNING:
            return None
        if exchange.conversation.is_named:
            return conversation_key(exchange.conversation.key)
        return prefix_key(
            exchange.request.principal.tenant, orjson.dumps(exchange.request.surface.beginning(exchange.body))
        )

    async def _ask(self, exchange: Exchange, upstream: Upstream, body: bytes, *, is_last: bool) -> Reply:
        sent = time.perf_counter()
        exchange.attempts.hedges = 0
        exchange.usage, exchange.price = None, self._admission.price(upstream.name)
        with span(exchange.request.trace, "upstream") as traced:
            answer = await upstream.post(
                exchange.request.surface.path,
                body,
                is_stream=exchange.request.is_stream,
                headers=self._headers(exchange, upstream, traced),
                key=self._affinity(exchange, upstream),
                tokens=exchange.planned.demand.tokens,
                deadline_s=exchange.request.deadline_s,
                may_wait=is_last,
                may_hedge=exchange.request.surface.family in HEDGED,
                attempts=exchange.attempts,
            )
            if traced is not None:
                traced.say({"attempts": len(exchange.attempts.words())})
        if exchange.attempts.hedges:
            self._metrics.hedges.add(upstream.name, by=exchange.attempts.hedges)
        if exchange.request.is_stream:
            stream = await self._delivery.begin(exchange, answer)
            self._came(exchange, upstream, sent)
            return self._reply(exchange, stream)
        made = await self._delivery.read(exchange, answer)
        self._came(exchange, upstream, sent)
        if exchange.request.route.escalate_on and not is_last:
            await self._escalation.judge(exchange, made)
        return await self._deliver(exchange, made)

    def _came(self, exchange: Exchange, upstream: Upstream, sent: float) -> None:
        taken_s = time.perf_counter() - sent
        self._metrics.first_byte_s.observe(
            taken_s, exchange.request.surface.name, exchange.request.route.model, upstream.route
        )

    async def _deliver(self, exchange: Exchange, made: Made) -> Reply:
        content = await self._delivery.whole(exchange, made)
        exchange.settle()
        exchange.request.end_trace(
            status=200,
            reason=ANSWERED if exchange.handoff_id is None else HANDED_OVER,
            upstream=exchange.upstream,
            tokens=len(exchange.issued),
        )
        return self._reply(exchange, content)

    def _reply(self, exchange: Exchange, content: bytes | AnswerStream) -> Reply:
        assert exchange.upstream is not None
        upstream = self._upstreams[exchange.upstream]
        self._metrics.requests.add(exchange.request.surface.name, exchange.request.route.model, upstream.route, "200")
        told = self._admission.headers(exchange.reservation)
        if exchange.handoff_id is not None:
            told.append((b"x-sovctl-handoff-id", exchange.handoff_id.encode()))
        return Reply(200, upstream.kind, exchange.request.request_id, content, told)


def cache_salt(secret: bytes, tenant: str) -> str:
    """A tenant's salt for the prefix caches of pools: 43 characters that nobody can guess, as vLLM advises."""
    return base64.urlsafe_b64encode(hmac.digest(secret, tenant.encode(), "sha256")).decode().rstrip("=")
