"""Asks the next upstream of a plan if an answer has a fault that the route lists in `escalate_on`.

A faulty answer is kept, and delivered if no later upstream returns a valid one. Only upstreams of the plan are asked,
so policy holds. After the client got a byte, no other upstream is asked: of a stream, only an empty one is a fault.

    escalation.deprioritized(request, names)   # upstreams that gave two faulty answers in this conversation
    await escalation.judge(result)         # the result with its fault
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..domain.errors import UpstreamFailed
from ..exchange.attempt import Attempt, AttemptResult
from ..exchange.request import Request
from ..release.schema import SchemaCheck
from ..routing.bad_answer import fault_in
from ..routing.deprioritized import DeprioritizedUpstreams
from ..settings import Fault
from ..telemetry.metrics import Metrics


@dataclass(frozen=True)
class Escalation:
    """Judges answers, and counts faulty ones by upstream. Of one process, under one set of settings.

    Args:
        deprioritizing: the counts, shared by all workers.
    """

    metrics: Metrics
    deprioritizing: DeprioritizedUpstreams = field(default_factory=DeprioritizedUpstreams)
    _check: SchemaCheck = field(default_factory=SchemaCheck)

    def deprioritized(self, request: Request, upstreams: Iterable[str]) -> frozenset[str]:
        """Return those of `upstreams` to ask last in this conversation."""
        return self.deprioritizing.of(request.conversations[0].key, upstreams)

    async def judge(self, result: AttemptResult) -> AttemptResult:
        """Return the result with the fault of its answer."""
        if result.is_large:
            fault = await asyncio.to_thread(self._fault, result)
        else:
            fault = self._fault(result)
        if fault is None:
            return result
        self._note(result.attempt, fault)
        return AttemptResult(result.attempt, result.answer, result.size_bytes, fault)

    def failed(self, attempt: Attempt, failure: UpstreamFailed) -> None:
        """Note the failure of an upstream: a stream that ends before its first event is an empty answer."""
        if failure.cause == Fault.EMPTY and Fault.EMPTY in attempt.request.route.escalate_on:
            self._note(attempt, Fault.EMPTY)

    def _note(self, attempt: Attempt, fault: Fault) -> None:
        self.deprioritizing.note(attempt.conversation.key, attempt.upstream)
        self.metrics.bad_answers.add(attempt.request.route.model, attempt.upstream, fault.value)

    def _fault(self, result: AttemptResult) -> Fault | None:
        planned = result.attempt.planned
        request, body = planned.request, planned.inspected.admitted.body
        surface = request.surface
        if not surface.has_text:  # an API of the same family that counts tokens
            return None
        return fault_in(
            result.answer,
            body,
            family=surface.family,
            asked_tokens=surface.max_answer_tokens(body),
            wants_json=surface.wants_json(body),
            wanted=request.route.escalate_on,
            check=self._check,
        )
