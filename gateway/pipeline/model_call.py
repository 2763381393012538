"""Telemetry and counts of one call to a model.

call = ModelCall(attempt, upstream, metrics, counts)
charge.begin(price, call.used)
call.ended("")            # or the cause of its failure
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..exchange.attempt import Attempt
from ..quota.need import NOTHING, Usage
from ..quota.usage import UsageCounts, UsageKey
from ..telemetry.gen_ai import OPERATIONS
from ..telemetry.metrics import Metrics
from ..upstream import Upstream


class ModelCall:
    """One call, from sending the request to the end of the answer.

    Args:
        counts: for the usage page; None without them.
    """

    __slots__ = ("_attempt", "_counts", "_labels", "_metrics", "_sent_at_s", "_upstream")

    def __init__(self, attempt: Attempt, upstream: Upstream, metrics: Metrics, counts: UsageCounts | None) -> None:
        self._attempt, self._upstream, self._metrics, self._counts = attempt, upstream, metrics, counts
        self._labels = (OPERATIONS[attempt.request.surface.family], upstream.provider, upstream.model)
        self._sent_at_s = time.perf_counter()

    @property
    def taken_s(self) -> float:
        """Seconds since the request was sent."""
        return time.perf_counter() - self._sent_at_s

    def attributes(self) -> Mapping[str, Any]:
        """Return the attributes of its span."""
        operation, provider, model = self._labels
        upstream = self._upstream
        return {
            "operation": operation,
            "provider": provider,
            "model": model,
            "is_stream": self._attempt.request.is_stream,
            "upstream": upstream.name,
            "upstream_kind": upstream.kind.value,
            "fallback_route": self._attempt.planned.fallback_route(upstream.name),
        }

    def began(self) -> None:
        """Note the first event of a stream."""
        self._metrics.first_chunk_s.observe(self.taken_s, *self._labels)

    def ended(self, error_type: str) -> None:
        """Note the end of the answer.

        Args:
            error_type: empty if it is complete.
        """
        self._metrics.operation_s.observe(self.taken_s, *self._labels, error_type)

    def used(self, usage: Usage | None, cost: int) -> None:
        """Count the usage of the answer.

        Args:
            usage: None if it is unknown.
            cost: nano.
        """
        request = self._attempt.request
        if usage is None and not request.surface.uses_tokens:
            usage = NOTHING
        if usage is not None:
            self._metrics.token_usage.observe(usage.prompt, *self._labels, "input")
            self._metrics.token_usage.observe(usage.completion, *self._labels, "output")
        if self._counts is not None:
            principal = request.principal
            key = UsageKey(
                self._counts.today,
                principal.tenant,
                principal.team or "",
                principal.subject,
                request.model,
                self._upstream.name,
            )
            self._counts.add(key, usage, cost=cost)
