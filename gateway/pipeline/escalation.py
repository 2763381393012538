"""Asks the next upstream of a plan when an answer is bad, on routes that say which faults count.

What is worse than a bad answer is none: it is kept, and delivered when nobody after it gives a better one. Never beyond
the plan, so never beyond policy; never after the client got a byte, so a stream is judged by whether it began.

    escalation.judge(exchange, made)       # BadAnswer, where the route looks for that
    escalation.latched(request)            # those that have given two bad answers in this conversation
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..domain.errors import UpstreamFailed
from ..exchange.request import Request
from ..exchange.sent import Exchange
from ..release.schema import SchemaCheck
from ..routing.bad_answer import fault_in
from ..routing.latch import Latch
from ..settings import Fault
from ..telemetry.metrics import Metrics
from ..tokens.restore import RestoreCounts

_ASIDE_BYTES = 64 << 10  # larger answers are judged in a thread, so that others are served meanwhile


class Made(NamedTuple):
    """An answer that is not streamed, with its values put back, and not yet released."""

    answer: dict[str, Any]
    size_bytes: int


@dataclass(eq=False)
class BadAnswer(Exception):
    """An answer with a fault, and what is needed to deliver it all the same."""

    fault: Fault
    made: Made
    upstream: str | None
    issued: Mapping[str, str]
    kept: Mapping[str, Any]
    counts: RestoreCounts

    def take_back(self, exchange: Exchange) -> None:
        """Make it the answer that is on its way."""
        exchange.upstream, exchange.issued = self.upstream, self.issued
        exchange.kept, exchange.counts = self.kept, self.counts


@dataclass(frozen=True)
class Escalation:
    """Judges answers, and remembers who gave bad ones. Of one process, under one set of settings.

    Args:
        latch: shared by all workers.
    """

    metrics: Metrics
    latch: Latch = field(default_factory=Latch)
    _check: SchemaCheck = field(default_factory=SchemaCheck)

    def latched(self, request: Request) -> frozenset[str]:
        """Upstreams to ask last in this conversation."""
        return self.latch.of(request.conversations[0].key, request.route.upstreams)

    async def judge(self, exchange: Exchange, made: Made) -> None:
        """Return when an answer is good enough.

        Raises:
            BadAnswer: it is not.
        """
        if made.size_bytes > _ASIDE_BYTES:
            fault = await asyncio.to_thread(self._fault, exchange, made)
        else:
            fault = self._fault(exchange, made)
        if fault is None:
            return
        self._note(exchange, fault)
        raise BadAnswer(fault, made, exchange.upstream, exchange.issued, exchange.kept, exchange.counts)

    def failed(self, exchange: Exchange, failure: UpstreamFailed) -> None:
        """An answer was none: a stream that ended before its first event is an empty one."""
        if failure.cause == Fault.EMPTY and Fault.EMPTY in exchange.request.route.escalate_on:
            self._note(exchange, Fault.EMPTY)

    def _note(self, exchange: Exchange, fault: Fault) -> None:
        assert exchange.upstream is not None
        self.latch.note(exchange.conversation.key, exchange.upstream)
        self.metrics.bad_answers.add(exchange.request.route.model, exchange.upstream, fault.value)

    def _fault(self, exchange: Exchange, made: Made) -> Fault | None:
        surface, body = exchange.request.surface, exchange.body
        if not surface.has_text:  # an API of the same family that counts tokens
            return None
        return fault_in(
            made.answer,
            body,
            family=surface.family,
            asked_tokens=surface.max_answer_tokens(body),
            wants_json=surface.wants_json(body),
            wanted=exchange.request.route.escalate_on,
            check=self._check,
        )
