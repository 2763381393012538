"""Restores tokens in an answer, and writes its audit record before the last byte is sent.

A complete answer is recorded before its first byte, a stream before its final event. If the record cannot be written,
the client does not get the end. Until the first event of a stream has come, another upstream can still be asked.
"""

from __future__ import annotations

import asyncio

import orjson

from ..audit.audit_log import AuditLog
from ..domain.errors import Code, Refused, UpstreamFailed
from ..exchange.attempt import Attempt, AttemptResult
from ..handoff.service import HandoffService
from ..quota.need import reported_usage
from ..release.judge import ReleaseCheckRun
from ..release.verdict import AnswerWithheld
from ..release.whole import release_whole
from ..settings import Limits
from ..settings.answers.release import OnFailure
from ..surfaces import Restoration
from ..surfaces.answers.replacement_answer import Ending, ReplacementAnswer
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import span
from ..tokens.restore import Issued, RestoreBounds
from ..upstream import Answer, StreamedAnswer
from .annotations import annotate
from .answer_record import ANSWERED, HANDED_OVER, AnswerRecorder
from .answer_stream import AnswerStream
from .charge import Charge


class Delivery:
    """Delivers answers, and writes their last audit record.

    Args:
        background: records for which no caller waits; shared by all deliveries of a process.
        handoffs: queue of withheld answers; None without hand-offs.
    """

    def __init__(
        self,
        audit: AuditLog,
        metrics: Metrics,
        limits: Limits,
        bounds: RestoreBounds,
        background: set[asyncio.Task[None]] | None = None,
        handoffs: HandoffService | None = None,
    ) -> None:
        self._audit = audit
        self._metrics = metrics
        self._max_answer_bytes, self._max_event_bytes = limits.max_answer_bytes, limits.max_event_bytes
        self._bounds = bounds
        self._handoffs = handoffs
        self._background = background if background is not None else set()

    def recorder(self, attempt: Attempt, earlier: AnswerRecorder | None) -> AnswerRecorder:
        """Return the recorder of an attempt's answer.

        Args:
            earlier: recorder of the attempt before; None for the first one.
        """
        return AnswerRecorder(attempt, earlier, audit=self._audit, metrics=self._metrics, background=self._background)

    async def read(self, attempt: Attempt, charge: Charge, answer: Answer) -> AttemptResult:
        """Read a complete answer, and restore its tokens.

        Raises:
            UpstreamFailed: the answer is invalid, too large or cut off.
        """
        surface = attempt.request.surface
        try:
            data = await answer.read(at_most=self._max_answer_bytes)
            decoded = surface.parsed(data)
            if charge.needs_usage and isinstance(decoded, dict):
                charge.usage = reported_usage(decoded.get("usage"))
            restored = surface.whole(decoded, restoration_of(attempt, self._bounds))
        except UpstreamFailed as error:
            answer.failed(error.cause)
            raise
        finally:
            answer.release()
        return AttemptResult(attempt, restored, len(data))

    async def whole(self, result: AttemptResult, recorder: AnswerRecorder) -> bytes:
        """Return the response body of a complete answer, once its record is durable.

        Raises:
            Refused: the record is not durable, or the answer is withheld.
            UpstreamFailed: the answer is nested too deeply to be written again.
        """
        request = result.attempt.request
        surface = request.surface
        checks = recorder.checks = check_run_of(result.attempt)
        if checks is not None:
            try:
                with span(request.trace, "release") as traced:
                    if result.is_large:
                        await asyncio.to_thread(release_whole, checks, surface, result.answer)
                    else:
                        release_whole(checks, surface, result.answer)
                    if traced is not None:
                        traced.say({"verdict": checks.verdicts.worst.value})
            except AnswerWithheld as withheld:
                texts = [said.text for said in surface.strings_of(result.answer)]
                replacement = await self._replacement(recorder, withheld, texts)
                content = surface.written(_ending(result.attempt).whole(replacement))
                await recorder.record_end(HANDED_OVER, self._audit.digest(content))
                return content
        if request.sources:
            annotate(result.answer, request.sources)
        try:
            content = surface.written(result.answer)
        except orjson.JSONEncodeError:
            raise UpstreamFailed("protocol") from None
        await recorder.record_end(ANSWERED, self._audit.digest(content))
        return content

    async def begin(self, recorder: AnswerRecorder, charge: Charge, answer: StreamedAnswer) -> AnswerStream:
        """Return the stream of an answer, once its first event has come.

        Raises:
            Refused: the answer is withheld.
            UpstreamFailed: no event came.
        """
        attempt = recorder.attempt
        try:
            recorder.checks = check_run_of(attempt)
            stream = AnswerStream(
                recorder,
                charge,
                answer,
                restoration_of(attempt, self._bounds),
                withhold=self.withhold,
                hasher=self._audit.hasher(),
                max_event_bytes=self._max_event_bytes,
                metrics=self._metrics,
            )
            await stream.begin()
        except AnswerWithheld as withheld:
            answer.release()
            stream.replacement = await self._replacement(recorder, withheld, stream.model_text)
        except BaseException:
            answer.release()
            raise
        return stream

    async def _replacement(
        self, recorder: AnswerRecorder, withheld: AnswerWithheld, texts: list[str]
    ) -> ReplacementAnswer:
        """As `withhold`, for an answer of which nothing was sent: a refusal is recorded.

        Raises:
            Refused: as `withhold`.
        """
        try:
            return await self.withhold(recorder, withheld, texts)
        except Refused as refused:
            digest = self._audit.digest(recorder.attempt.request.error(refused))
            await recorder.record_end(refused.code.value, digest, status=refused.status)
            raise

    async def withhold(self, recorder: AnswerRecorder, withheld: AnswerWithheld, texts: list[str]) -> ReplacementAnswer:
        """Queue a withheld answer for a person, and return its replacement.

        Args:
            texts: strings of the answer, as the client would have got them.

        Raises:
            Refused: the settings do not hand off this failed check, or the queue is full or unavailable.
        """
        attempt, checks = recorder.attempt, recorder.checks
        if self._handoffs is None or checks is None or checks.on_failure(withheld.outcome) is not OnFailure.HAND_OFF:
            raise Refused(Code.ANSWER_WITHHELD)
        if attempt.request.surface.ending(attempt.planned.inspected.admitted.body) is None:
            raise Refused(Code.ANSWER_WITHHELD)
        replacement = await self._handoffs.submit(attempt, checks.verdicts.reasons, texts)
        recorder.handoff_id = replacement.handoff_id
        return replacement

    async def close(self) -> None:
        """Wait for the records for which no caller waits."""
        await asyncio.gather(*self._background)


def restoration_of(attempt: Attempt, bounds: RestoreBounds) -> Restoration:
    """Return what the answer is restored with: no values for a principal that may not see them."""
    planned = attempt.planned
    request = planned.request
    model, counts, repeated = request.route.model, attempt.counts, attempt.repeated
    if not (attempt.issued and request.principal.may_restore):
        return Restoration({}, model, counts, repeated)
    is_json = request.surface.wants_json(planned.inspected.admitted.body)
    return Restoration(
        Issued(attempt.issued, bounds),
        model,
        counts,
        repeated,
        is_json=is_json,
        tool_rules=request.route.tool_arguments,
    )


def check_run_of(attempt: Attempt) -> ReleaseCheckRun | None:
    """Return the release checks of an attempt's answer; None if its route or surface is not checked."""
    inspected = attempt.planned.inspected
    request, inspector = inspected.admitted.request, inspected.inspector
    if request.release_checks is None or not request.surface.is_judged:
        return None
    texts = [*(leaf.text for leaf in inspector.leaves.texts), *attempt.issued.values()]
    may_see = request.principal.may_restore
    return request.release_checks.judge(inspected.admitted.body, inspector.found, texts, may_see=may_see)


def _ending(attempt: Attempt) -> Ending:
    ending = attempt.request.surface.ending(attempt.planned.inspected.admitted.body)
    assert ending is not None, "an answer is handed off only if its surface has a form for that"
    return ending
