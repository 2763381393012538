"""Streams an answer to the client: restores tokens, holds text until its release checks pass, and writes the audit
record before the final event.

Without release checks, events are written to the client's connection in the callback that reads the upstream's. The
task of the request wakes only for the end, for a failure, and when the client reads more slowly than the model writes.
A withheld answer ends the stream with its replacement; see `surfaces.answers.replacement_answer`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

import orjson

from ..body.sse import EventTooLarge
from ..domain.errors import Code, Refused, UpstreamFailed
from ..http.client_body import ClientBody
from ..quota.need import usage_in
from ..release.gated_stream import gated
from ..release.stream import StreamGate
from ..release.verdict import AnswerWithheld
from ..surfaces import Restoration
from ..surfaces.answers.replacement_answer import ReplacementAnswer
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..tokens.hmac_key import Digest
from ..upstream import StreamedAnswer
from .annotations import annotator_of
from .answer_record import ANSWERED, CLIENT_LEFT, HANDED_OVER, AnswerRecorder
from .charge import Charge
from .restored_events import RestoredEvents

# Chunks hashed in one call. A call costs as much as hashing 0.4 KiB; from 2 KiB on hashlib releases the GIL, and this
# thread would wait to get it back (CPython 3.11, HASHLIB_GIL_MINSIZE).
_HASHED_TOGETHER = 8
_INVALID_ANSWER = (EventTooLarge, UpstreamFailed)


def _ignore(_: str) -> None:
    pass


Withhold = Callable[[AnswerRecorder, AnswerWithheld, list[str]], Awaitable[ReplacementAnswer]]
"""Returns the replacement of a withheld answer; raises `Refused` without one."""


class AnswerStream:
    """An answer that is being streamed. `close` must be called once, whether it was read to its end or not.

    Args:
        hasher: keyed hash of what the client is sent.
    """

    def __init__(
        self,
        recorder: AnswerRecorder,
        charge: Charge,
        answer: StreamedAnswer,
        restoration: Restoration,
        *,
        withhold: Withhold,
        hasher: Digest,
        max_event_bytes: int,
        metrics: Metrics,
    ) -> None:
        planned = recorder.attempt.planned
        admitted = planned.inspected.admitted
        request = admitted.request
        self._request = request
        self._recorder = recorder
        self._charge = charge
        self._answer = answer
        self._withhold = withhold
        self._hides_usage = admitted.hides_usage
        self._events = request.surface.stream(restoration)
        self._restored = RestoredEvents(
            self._events,
            max_event_bytes=max_event_bytes,
            is_left_out=self._is_usage_alone if charge.needs_usage else None,
        )
        self._annotator = annotator_of(request.surface.family, request.sources) if request.sources else None
        self._hasher = hasher
        self._sent: list[bytes] = []  # not hashed yet
        self._sent_at = 0.0
        self._ending = request.surface.ending(admitted.body) if request.release_checks is not None else None
        self._gate = self._new_gate(metrics)
        self._gated = gated(self._gate, self._chunks()) if self._gate is not None else None
        self._body: ClientBody | None = None  # the client's connection, once events may be written to it
        self._waiting = b""  # events for the reader of this stream
        self._failure: Exception | None = None
        self._first = b""
        self.replacement: ReplacementAnswer | None = None
        """Replaces the answer, of which then nothing is sent."""
        self.is_over = False
        """Whether `pieces` has yielded the last bytes for the client."""
        self.ended: Callable[[str], None] = _ignore
        """Called when the stream is closed, with the reason unless the answer was complete."""
        self.model: str | None = None
        """Model name of the upstream, for the trace."""
        self._is_recorded = False
        self._reason = ""
        self._began_ns = time.time_ns() if request.trace is not None else 0
        self._inter_token_s = metrics.inter_token_s.at(request.surface.name, request.route.model)

    async def begin(self) -> None:
        """Wait for the first event.

        Raises:
            UpstreamFailed: no event came.
            AnswerWithheld: a release check failed before anything could be sent.
        """
        try:
            async with asyncio.timeout_at(self._request.deadline_s):
                self._first = await self._next()
        except TimeoutError:
            self._answer.note("deadline")
            raise UpstreamFailed("deadline") from None
        if not self._first:
            raise UpstreamFailed("empty")

    @property
    def reason(self) -> str:
        """Reason of the end, as in the audit record; after `close`."""
        return self._reason

    @property
    def model_text(self) -> list[str]:
        """Strings that the model has written; empty without release checks."""
        return self._gate.model_text if self._gate is not None else []

    async def pieces(self, body: ClientBody | None = None) -> AsyncIterator[bytes]:
        """Yield framed events, to the end of the answer or of its replacement.

        Args:
            body: the client's connection; between two events that are yielded, others may be written to it.
        """
        request, recorder = self._request, self._recorder
        try:
            try:
                if self.replacement is None:
                    self._sent.append(self._first)
                    self._annotate(self._first)
                    yield self._first
                    self._sent_at = time.perf_counter()
                    self._body = body
                    while piece := await self._next():
                        self._note(piece)
                        yield piece
                    last = b"".join(self._events.last())
                    if (gate := self._gate) is not None:
                        last = gate.feed(last) + gate.flush()
                        if gate.blocked is not None:
                            self._sent.append(last)
                            yield last
                        gate.check()
                    if self._annotator is not None:
                        last = self._annotator.ended(last)
                    self._sent.append(last)
                    await self._record_end(ANSWERED)
                    self.is_over = True
                    yield last
                    return
            except AnswerWithheld as withheld:
                log.event("stream withheld", level=30, reason=str(withheld), request_id=request.request_id)
                self.replacement = await self._withhold(recorder, withheld, self.model_text)
            assert self._ending is not None
            last = b"".join(self._ending.events(self.replacement))
            self._sent.append(last)
            await self._record_end(HANDED_OVER)
            self.is_over = True
            yield last
        except (UpstreamFailed, Refused) as error:
            code = error.code if isinstance(error, Refused) else Code.UPSTREAM_FAILED
            log.event("stream aborted", level=30, reason=str(error), request_id=request.request_id)
            yield self._broken(code)
        except Exception as error:  # noqa: BLE001 - the response has begun, so `api.app` can no longer send an error
            log.event("internal error", level=40, error=error, request_id=request.request_id)
            yield self._broken(Code.INTERNAL)

    def _broken(self, code: Code) -> bytes:
        """Return the event that ends a stream with an error."""
        event = self._request.surface.error_event(code, request_id=self._request.request_id)
        self._sent.append(event)
        self._record_in_background(code.value)
        self._reason = code.value  # also if the record of the complete answer is what failed
        self.is_over = True
        return event

    async def _record_end(self, reason: str) -> None:
        self._is_recorded = True  # also if it is refused: one record an answer
        self._reason = reason
        await self._recorder.record_end(reason, self._digest())

    async def close(self) -> None:
        """Release the upstream's connection, and record the end if it is not recorded."""
        request, recorder = self._request, self._recorder
        self._answer.release()
        self._charge.commit()
        self._record_in_background(CLIENT_LEFT)
        if (trace := request.trace) is not None:
            if recorder.checks is not None:
                trace.past("release", self._began_ns, {"verdict": recorder.checks.verdicts.worst.value})
            attempt = recorder.attempt
            tokens = len(attempt.issued)
            request.end_trace(
                status=200,
                reason=self._reason,
                upstream=attempt.upstream,
                model=self.model,
                tokens=tokens,
                usage=self._charge.usage,
            )
        self.ended("" if self._reason in (ANSWERED, HANDED_OVER) else self._reason)
        if self._gated is not None:
            await self._gated.aclose()

    def _record_in_background(self, reason: str) -> None:
        if not self._is_recorded:
            self._reason = reason
            self._is_recorded = True
            self._recorder.record_end_in_background(reason, self._digest())

    def _note(self, piece: bytes) -> None:
        """Hash and time events that are about to be sent to the client."""
        now = time.perf_counter()
        self._inter_token_s.observe(now - self._sent_at)
        self._sent_at = now
        self._annotate(piece)
        self._sent.append(piece)
        if len(self._sent) >= _HASHED_TOGETHER:
            self._hash()

    def _annotate(self, piece: bytes) -> None:
        if self._annotator is not None:
            self._annotator.feed(piece)

    def _hash(self) -> None:
        self._hasher.update(b"".join(self._sent))
        self._sent.clear()

    def _digest(self) -> str:
        self._hash()
        return self._hasher.hexdigest()

    def _is_usage_alone(self, data: bytes) -> bool:
        """Note the usage that an event reports. Return True if it reports only that, and the client did not ask."""
        try:
            decoded = orjson.loads(data)
        except orjson.JSONDecodeError:
            return False  # the restorer raises for invalid JSON
        if (usage := usage_in(decoded)) is None:
            return False
        charge = self._charge
        charge.usage = usage if charge.usage is None else charge.usage.later(usage)
        return self._hides_usage and not decoded.get("choices")

    def _new_gate(self, metrics: Metrics) -> StreamGate | None:
        request, checks = self._request, self._recorder.checks
        if checks is None:
            return None
        observe = metrics.release_hold_s.at(request.route.model).observe
        sent = self._ending.sent if self._ending is not None else lambda _: None
        return StreamGate(checks, request.surface, clock=time.monotonic, observe=observe, sent=sent)

    async def _next(self) -> bytes:
        """Return events for the reader of this stream; empty before the events that end it.

        Raises:
            UpstreamFailed: the answer is cut off or invalid.
            AnswerWithheld: a release check failed; the text before it was returned.
        """
        if self._gated is not None:
            return await anext(self._gated, b"")
        while not self._waiting:
            if self._events.is_finished:
                self._answer.finished()
                return b""
            is_whole = await self._answer.pour(self._take)
            if self._failure is not None:
                raise self._failure
            if is_whole and not self._events.is_finished:
                raise self._failed(UpstreamFailed("broken"))  # the connection ended before the final event
        waiting, self._waiting = self._waiting, b""
        return waiting

    def _take(self, data: bytes) -> bool:
        """Pass on bytes from the upstream. Return False if the task of the request has to wake for them."""
        try:
            if restored := self._restored.feed(data):
                if self._body is None or not self._body.write(restored):
                    self._waiting = restored
                    return False
                self._note(restored)
        except Exception as error:  # noqa: BLE001 - `_next` raises it in the task of the request
            self._failure = self._failed(error) if isinstance(error, _INVALID_ANSWER) else error
            return False
        return not self._events.is_finished

    async def _chunks(self) -> AsyncGenerator[bytes]:
        """Yield restored events for the gate, without those that end the stream."""
        async for data in self._answer.chunks():
            try:
                restored = self._restored.feed(data)
            except _INVALID_ANSWER as error:
                raise self._failed(error) from None
            if restored:
                yield restored
            if self._events.is_finished:
                self._answer.finished()
                return
        raise self._failed(UpstreamFailed("broken"))  # the connection ended before the final event

    def _failed(self, error: EventTooLarge | UpstreamFailed) -> UpstreamFailed:
        failure = error if isinstance(error, UpstreamFailed) else UpstreamFailed("too-large")
        self._answer.failed(failure.cause)
        return failure
