"""Writes the audit record of the end of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..audit.audit_log import AuditLog
from ..domain.errors import Refused
from ..exchange.attempt import Attempt
from ..exchange.delivered import Delivered
from ..exchange.request import Request
from ..recordings.recording import Recording
from ..release.judge import ReleaseCheckRun
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import span

# Values of `reason` in the record of an answer that no reason code ended.
ANSWERED = "answered"
CLIENT_LEFT = "client-left"
HANDED_OVER = "handed_over"

_COUNTED = ("restored", "withheld", "unknown", "malformed", "capped")


class AnswerRecorder:
    """Records the end of the answer of one attempt, at most once.

    A record is submitted before its caller can be cancelled, so a client that leaves during the write adds no other.

    Args:
        earlier: recorder of the attempt before; None for the first one.
        background: tasks that write records for which no caller waits; shared by all recorders of a process.
    """

    __slots__ = (
        "_audit",
        "_background",
        "_earlier_release",
        "_is_counted",
        "_is_recorded",
        "_metrics",
        "attempt",
        "checks",
        "handoff_id",
    )

    def __init__(
        self,
        attempt: Attempt,
        earlier: AnswerRecorder | None,
        *,
        audit: AuditLog,
        metrics: Metrics,
        background: set[asyncio.Task[None]],
    ) -> None:
        self.attempt = attempt
        self.checks: ReleaseCheckRun | None = None
        """Release checks of the answer; None until it begins, and without checks."""
        self.handoff_id: str | None = None
        """Id of the hand-off that replaces the answer; None if it is not handed off."""
        self._earlier_release: tuple[Mapping[str, Any], ...] = ()
        if earlier is not None:
            earlier.count_checks()
            self._earlier_release = earlier.judged()
        self._is_recorded = self._is_counted = False
        self._audit = audit
        self._metrics = metrics
        self._background = background

    def judged(self) -> tuple[Mapping[str, Any], ...]:
        """Return the verdicts on this answer and on those of earlier attempts, oldest first; omits unjudged answers."""
        if self.checks is None or not self.checks.verdicts.of:
            return self._earlier_release
        return (*self._earlier_release, {"upstream": self.attempt.upstream, **self.checks.verdicts.plain()})

    def count_checks(self) -> None:
        """Count the verdicts on this answer, whether it is delivered or not. Idempotent."""
        if self.checks is None or self._is_counted:
            return
        self._is_counted = True
        for check, verdict in self.checks.verdicts.of.items():
            self._metrics.release_checks.add(self.attempt.request.route.model, check, verdict.value)

    async def record_end(self, reason: str, digest: str, *, status: int = 200) -> None:
        """Record the end of the answer.

        Raises:
            Refused: the record is not durable.
        """
        self._is_recorded = True
        attempt, metrics = self.attempt, self._metrics
        request, counts = attempt.request, attempt.counts
        for name in _COUNTED:
            if count := getattr(counts, name):
                metrics.tokens.add(name, by=count)
        self.count_checks()
        release = self.checks.verdicts.plain() if self.checks is not None else None
        delivered = Delivered(
            request.request_id,
            status,
            reason,
            attempt.upstream,
            counts,
            digest,
            attempt.tries.words(),
            release,
            self.handoff_id,
            self._earlier_release,
            attempt.planned.fallback_route(attempt.upstream),
            _live(request),
        )
        with span(request.trace, "audit"):
            await self._audit.answer(delivered)

    async def record_failure(self, refused: Refused) -> None:
        """Record that no upstream answered.

        Raises:
            Refused: the record is not durable.
        """
        self._is_recorded = True
        self.count_checks()
        attempt = self.attempt
        delivered = Delivered(
            attempt.request.request_id,
            refused.status,
            refused.code.value,
            upstream=None,
            counts=attempt.counts,
            digest=self._audit.digest(attempt.request.error(refused)),
            tries=attempt.tries.words(),
            earlier_release=self.judged(),
            recording=_live(attempt.request),
        )
        await self._audit.answer(delivered)

    def client_left(self) -> None:
        """Record that the client left before the answer began, unless an end is recorded."""
        if not self._is_recorded:
            self.record_end_in_background(CLIENT_LEFT, self._audit.hasher().hexdigest())

    def record_end_in_background(self, reason: str, digest: str) -> None:
        """Record an end for which no caller waits: the client has left, or gets an error."""
        task = asyncio.create_task(self._record_or_log(reason, digest))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _record_or_log(self, reason: str, digest: str) -> None:
        try:
            await self.record_end(reason, digest)
        except Refused:
            request_id = self.attempt.request.request_id
            log.event("end of a broken answer not recorded", level=40, request_id=request_id)


def _live(request: Request) -> Recording | None:
    """Return the facts of audio that arrived while the answer was streamed; None without such audio."""
    return request.live.measured() if request.live is not None else None
