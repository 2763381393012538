"""Sends a request to the upstreams of its plan, in order, until one answers.

    reply = await sender.send(planned)

`AttemptPreparer` writes the audit record and stores the token values before a body is sent. If no upstream answers, the
refusal that fits the last failure is recorded and raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import orjson

from ..access.assertion import HEADER, PrincipalSigner
from ..adapters import Adapter, Adapters, AnswerOptions, Inexpressible
from ..audit.audit_log import AuditLog
from ..domain.errors import Code, Headers, Refused, Rejection, UpstreamFailed, UpstreamRejected
from ..exchange.attempt import Attempt, AttemptResult
from ..exchange.delivered import Delivered
from ..exchange.planned import Planned
from ..policy.decision import Reason
from ..policy.request_fields import FieldTables
from ..quota.need import NOTHING
from ..settings import FallbackCause, Fault, UpstreamKind
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import TRACEPARENT, Timed, client_span
from ..tokenization.tokenizer import NotTokenized, Tokenizer
from ..tokens.restore import RestoreCounts
from ..upstream import HEDGED, Answer, PrefillDecode, Upstream
from ..upstream.kv_transfer import WithoutParams
from ..upstream.server_choice import WITH_BEGINNING, conversation_key, prefix_key
from .admission import Admission
from .answer_record import ANSWERED, HANDED_OVER, AnswerRecorder
from .answer_stream import AnswerStream
from .charge import Charge
from .delivery import Delivery
from .escalation import Escalation
from .fallback_gate import FallbackGate
from .model_call import ModelCall
from .preparation import AttemptPreparer
from .progress import Progress
from .transfer import Outgoing, answer_with_transfer

_DO_NOT_RETRY = ((b"x-should-retry", b"false"),)  # the clients of OpenAI and Anthropic retry a 502 without it
_REJECTIONS = {
    Rejection.PARAMETERS: Code.UPSTREAM_REJECTED,
    Rejection.TOO_LONG: Code.CONTEXT_LENGTH_EXCEEDED,
    Rejection.FIREWALL: Code.UPSTREAM_BLOCKED,
}


class Reply(NamedTuple):
    """The response for the client."""

    status: int
    route: UpstreamKind
    request_id: str
    content: bytes | AnswerStream
    """The body; the caller closes a stream, whether it was read to its end or not."""
    headers: Headers
    """Headers about the client's limits and its hand-off."""


class UpstreamSender:
    """Sends requests under one set of settings.

    Args:
        salt_key: key of the tenants' cache salts.
        signer: signs the principal for pools that require it; None if no pool does.
        field_tables: see `AttemptPreparer`.
        max_event_bytes: limit of an event that an adapter reads.
        pairs: pools with a prefilling pool, by the name of the one that answers.
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
        field_tables: FieldTables,
        adapters: Adapters,
        max_event_bytes: int,
        pairs: Mapping[str, PrefillDecode] = MappingProxyType({}),
    ) -> None:
        self._upstreams = upstreams
        self._pairs = pairs
        self._adapters = adapters
        self._max_event_bytes = max_event_bytes
        self._preparer = AttemptPreparer(tokenizer, delivery, admission, audit, salt_key, field_tables)
        self._delivery = delivery
        self._admission = admission
        self._escalation = escalation
        self._audit = audit
        self._metrics = metrics
        self._signer = signer

    async def send(self, planned: Planned) -> Reply:
        """Ask the plan's upstreams in order, until one answers.

        Raises:
            Refused: no upstream answered, or the answer is withheld.
        """
        progress = Progress(planned)
        try:
            return await self._ask_in_order(progress)
        except BaseException as error:
            upstream, tokens = None, 0
            if (recorder := progress.recorder) is not None:
                upstream, tokens = recorder.attempt.upstream, len(recorder.attempt.issued)
                recorder.count_checks()
                if isinstance(error, asyncio.CancelledError):
                    recorder.client_left()
            progress.charge.commit()
            planned.request.end_trace_of_error(error, upstream=upstream, tokens=tokens)
            raise

    async def _ask_in_order(self, progress: Progress) -> Reply:
        planned, charge = progress.planned, progress.charge
        request = planned.request
        failure: UpstreamFailed | UpstreamRejected | None = None
        faulty: AttemptResult | None = None
        asked, has_left = 0, False
        gate = FallbackGate(planned)
        for number, name in enumerate(planned.upstreams):
            if not gate.admits(name):
                break
            upstream = self._upstreams[name]
            try:
                recorder = await self._preparer.prepare(progress, upstream)
            except NotTokenized as error:
                progress.reasons.append(error.reason)
                gate.causes.add(FallbackCause.UNAVAILABLE)
                continue
            if recorder is None:
                gate.causes.add(FallbackCause.UNAVAILABLE)
                continue
            if asked == 0:
                if (shadow := planned.shadow) is not None:
                    self._metrics.shadow_choices.add(request.route.model, shadow.complexity, shadow.upstream, name)
                self._metrics.added_s.observe(time.perf_counter() - request.received_at_s, request.surface.name)
            else:
                self._metrics.fallbacks.add()
            asked += 1
            has_left = has_left or not upstream.may_see_raw_text
            try:
                answer = await self._ask(
                    recorder,
                    charge,
                    upstream,
                    may_wait=gate.is_last(number, FallbackCause.UNAVAILABLE),
                    may_escalate=not gate.is_last(number, FallbackCause.BAD_ANSWER),
                )
                if isinstance(answer, AnswerStream):
                    return self._reply(progress, recorder, answer)
                if answer.fault is None:
                    return await self._deliver(progress, answer)
                faulty = answer
                self._note_fault(progress, answer.fault, name)
                gate.causes.add(FallbackCause.BAD_ANSWER)
            except UpstreamRejected as error:
                failure = error
                self._note_rejection(progress, error, name)
                gate.rejected(error.why)
                if error.why.is_everywhere:
                    break
            except UpstreamFailed as error:
                if failure is None or not error.refusal:  # the client gets the failure that may pass, if there is one
                    failure = error
                self._note_failure(progress, error, recorder.attempt)
                gate.causes.add(FallbackCause.UNAVAILABLE)
                if error.cause == "deadline":
                    break
        if faulty is not None:
            progress.recorder = self._delivery.recorder(faulty.attempt, progress.recorder)
            with contextlib.suppress(UpstreamFailed):
                return await self._deliver(progress, faulty)
        raise await self._failed(progress, failure, has_left=has_left)

    def _note_fault(self, progress: Progress, fault: Fault, upstream: str) -> None:
        progress.charge.commit()
        progress.charge.usage = None
        progress.reasons.append(f"{fault}:{upstream}")
        progress.tries.end_last(fault)

    def _note_rejection(self, progress: Progress, error: UpstreamRejected, upstream: str) -> None:
        progress.charge.usage = NOTHING
        progress.reasons.append(f"{error}:{upstream}")
        if error.why is Rejection.FIREWALL:
            self._metrics.upstream_failures.add(upstream, error.why.value)
            log.event("upstream blocked", level=30, upstream=upstream, request_id=progress.planned.request.request_id)

    def _note_failure(self, progress: Progress, error: UpstreamFailed, attempt: Attempt) -> None:
        if error.used_nothing:
            progress.charge.usage = NOTHING
        progress.reasons.append(f"{error.cause}:{attempt.upstream}")
        self._metrics.upstream_failures.add(attempt.upstream, error.cause)
        self._escalation.failed(attempt, error)
        if error.cause != "deadline":
            log.event(
                "upstream failed",
                level=40 if error.refusal else 30,
                upstream=attempt.upstream,
                cause=error.cause,
                refusal=error.refusal or None,
                request_id=attempt.request.request_id,
            )

    async def _failed(
        self, progress: Progress, failure: UpstreamFailed | UpstreamRejected | None, *, has_left: bool
    ) -> Refused:
        """Record that no upstream answered, and return the refusal.

        Args:
            has_left: a cloud was asked; otherwise the refusal states that the request stayed on-prem.
        """
        if isinstance(failure, UpstreamFailed) and failure.cause == "deadline":
            code = Code.DEADLINE_EXCEEDED
        elif isinstance(failure, UpstreamRejected):
            code = _REJECTIONS[failure.why]
        elif failure is not None and failure.refusal:
            code = Code.UPSTREAM_MISCONFIGURED
        elif failure is None and Reason.VAULT_FAILED.value in progress.reasons:
            code = Code.VAULT_UNAVAILABLE
        else:
            code = Code.UPSTREAM_FAILED if has_left else Code.POOL_UNAVAILABLE
        permit, is_lasting = progress.planned.inspected.permit, code is Code.UPSTREAM_MISCONFIGURED
        has_stayed = code is Code.POOL_UNAVAILABLE or (is_lasting and not has_left)
        reasons = permit.reasons if has_stayed and not permit.verdict.may_leave else ()
        refused = Refused(code, reasons=reasons, headers=[*_DO_NOT_RETRY] if is_lasting else None)
        if (recorder := progress.recorder) is not None:
            await recorder.record_failure(refused)
            return refused
        await self._audit.answer(
            Delivered(
                progress.planned.request.request_id,
                refused.status,
                code.value,
                upstream=None,
                counts=RestoreCounts(),
                digest=self._audit.digest(progress.planned.request.error(refused)),
                tries=progress.tries.words(),
            )
        )
        return refused

    def _headers(self, attempt: Attempt, upstream: Upstream, traced: Timed | None) -> Mapping[str, str] | None:
        """Return the request headers for an upstream."""
        request = attempt.request
        headers = request.surface.passed_on(request.headers, attempt.body)
        if traced is not None and upstream.kind is UpstreamKind.POOL:
            headers = {**(headers or {}), TRACEPARENT: traced.traceparent}
        if not upstream.tells_principal or self._signer is None:
            return headers
        assertion = self._signer.sign(
            request.principal, audience=upstream.name, request_id=request.request_id, now=time.time()
        )
        return {**(headers or {}), HEADER: assertion}

    def _affinity(self, attempt: Attempt, upstream: Upstream) -> int | None:
        """Return the key that selects the server with a cached prefix; None if no server has one."""
        request = attempt.request
        if len(upstream.servers) < 2 or request.surface.family not in WITH_BEGINNING:
            return None
        if attempt.conversation.is_named:
            return conversation_key(attempt.conversation.key)
        beginning = request.surface.beginning(attempt.planned.inspected.admitted.body)
        return prefix_key(request.principal.tenant, orjson.dumps(beginning))

    async def _ask(
        self, recorder: AnswerRecorder, charge: Charge, upstream: Upstream, *, may_wait: bool, may_escalate: bool
    ) -> AnswerStream | AttemptResult:
        """Return the stream of the answer once its first event has come, or the complete answer.

        Args:
            may_wait: wait for an overloaded server, because no other upstream is left.
            may_escalate: look for a fault, because another upstream is left.

        Raises:
            UpstreamFailed: the upstream gave no valid answer.
            UpstreamRejected: the upstream rejected the request.
            Refused: the answer is withheld.
        """
        attempt = recorder.attempt
        request = attempt.request
        call = ModelCall(attempt, upstream, self._metrics, self._admission.usage)
        counts = self._admission.usage is not None or request.trace is not None
        charge.begin(self._admission.price(upstream.name), call.used, counts=counts)
        try:
            return await self._exchange(recorder, charge, upstream, call, may_wait=may_wait, may_escalate=may_escalate)
        except (UpstreamFailed, UpstreamRejected) as error:
            call.ended(str(error))
            raise

    async def _exchange(
        self,
        recorder: AnswerRecorder,
        charge: Charge,
        upstream: Upstream,
        call: ModelCall,
        *,
        may_wait: bool,
        may_escalate: bool,
    ) -> AnswerStream | AttemptResult:
        """As `_ask`."""
        attempt = recorder.attempt
        request, tries = attempt.request, attempt.tries
        surface = request.surface
        path, body, adapter = surface.path, attempt.body, self._adapters.get((upstream.name, surface.name))
        with client_span(request.trace, call.attributes) as traced:
            headers = self._headers(attempt, upstream, traced)
            if adapter is not None:
                try:
                    path, body, headers = adapter.outgoing(body, is_stream=request.is_stream, headers=headers)
                except Inexpressible:  # `Planner.accept` has checked it, so the request was changed since
                    raise UpstreamFailed("inexpressible") from None
            read = partial(self._read, recorder, charge, upstream, adapter)
            key: int | None = None
            result: AnswerStream | AttemptResult | None = None
            if request.live is not None:
                from ..upstream.realtime import open_utterance  # imported on use: it takes 0.1 s of the start

                opened = await open_utterance(
                    *(upstream, body, request.live),
                    headers=headers,
                    deadline_s=request.deadline_s,
                    attempts=tries,
                    max_event_bytes=self._max_event_bytes,
                )
                result = await self._delivery.begin(recorder, charge, opened)
            else:
                key = self._affinity(attempt, upstream)
            if result is None and (pair := self._pairs.get(upstream.name)) is not None:
                outgoing = Outgoing(
                    *(path, body, request.is_stream, headers, key),
                    *(attempt.planned.demand.tokens, request.deadline_s, tries),
                )
                result = await answer_with_transfer(
                    pair, upstream, outgoing, read, conversation=attempt.conversation.key
                )
            if result is None:
                answer = await upstream.post(
                    path,
                    body,
                    is_stream=request.is_stream,
                    headers=headers,
                    key=key,
                    tokens=attempt.planned.demand.tokens,
                    deadline_s=request.deadline_s,
                    may_wait=may_wait,
                    may_hedge=surface.family in HEDGED,
                    may_resend=request.may_resend,
                    attempts=tries,
                )
            if traced is not None:
                traced.say({"attempts": len(tries.words())})
        if result is None:
            result = await read(answer)
        if isinstance(result, AnswerStream):
            result.ended, result.model = call.ended, upstream.model
            call.began()
        else:
            call.ended("")
        self._metrics.first_byte_s.observe(call.taken_s, surface.name, request.route.model, upstream.route)
        if isinstance(result, AttemptResult) and request.route.escalate_on and may_escalate:
            result = await self._escalation.judge(result)
        return result

    async def _read(
        self, recorder: AnswerRecorder, charge: Charge, upstream: Upstream, adapter: Adapter | None, answer: Answer
    ) -> AnswerStream | AttemptResult:
        """Return the stream of an answer once its first event has come, or the complete answer."""
        attempt = recorder.attempt
        if adapter is not None:
            answer.decoder = adapter.decoder(_answer_options(attempt), max_event_bytes=self._max_event_bytes)
        elif upstream.name in self._pairs:
            answer.decoder = WithoutParams(max_event_bytes=self._max_event_bytes)
        if attempt.tries.hedges:
            self._metrics.hedges.add(upstream.name, by=attempt.tries.hedges)
        if attempt.request.is_stream:
            return await self._delivery.begin(recorder, charge, answer)
        return await self._delivery.read(attempt, charge, answer)

    async def _deliver(self, progress: Progress, result: AttemptResult) -> Reply:
        """Return the reply of a complete answer.

        Raises:
            Refused: the answer is withheld, or its record is not durable.
            UpstreamFailed: the answer is nested too deeply.
        """
        recorder, attempt = progress.recorder, result.attempt
        assert recorder is not None
        content = await self._delivery.whole(result, recorder)
        progress.charge.commit()
        progress.planned.request.end_trace(
            status=200,
            reason=ANSWERED if recorder.handoff_id is None else HANDED_OVER,
            upstream=attempt.upstream,
            model=self._upstreams[attempt.upstream].model,
            tokens=len(attempt.issued),
            usage=progress.charge.usage,
        )
        return self._reply(progress, recorder, content)

    def _reply(self, progress: Progress, recorder: AnswerRecorder, content: bytes | AnswerStream) -> Reply:
        request, upstream = progress.planned.request, self._upstreams[recorder.attempt.upstream]
        self._metrics.requests.add(request.surface.name, request.route.model, upstream.route, "200")
        headers = self._admission.headers(progress.charge.reservation)
        if recorder.handoff_id is not None:
            headers.append((b"x-sovctl-handoff-id", recorder.handoff_id.encode()))
        return Reply(200, upstream.kind, request.request_id, content, headers)


def _answer_options(attempt: Attempt) -> AnswerOptions:
    """Return the values of an answer that an adapter adds."""
    request = attempt.request
    options = attempt.planned.inspected.admitted.body.get("stream_options")
    has_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return AnswerOptions(f"sovctl-{request.request_id}", int(time.time()), has_usage)
