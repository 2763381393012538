"""Watches a prefilling pool for reads of its KV cache after the lease. Pure.

Two counters of vLLM's NixlConnector rise with the server's next engine step, after the answer has gone out: they
detect, and do not prevent (measured, vLLM 0.32).

    reads = StaleReads()
    reads.take(0, metrics)        # of server 0
    reads.increases()             # {(0, "after-expiry"): 1}; empties itself
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .load import values_of

KINDS: Mapping[str, bytes] = {
    "expired": b"vllm:nixl_num_kv_expired_reqs_total",  # a cache was not read within its lease
    "after-expiry": b"vllm:nixl_num_notifications_after_expiry_total",  # or a second time: the text may be another's
}
"""Metrics by the word in logs, records and the gateway's metrics."""


class StaleReads:
    """Increases of both counters of every server of a pool since they were last asked for."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, str], int] = {}
        self._increases: Counter[tuple[int, str]] = Counter()

    def take(self, server: int, metrics: bytes) -> None:
        """Take a server's metrics. The first ones are the baseline; lower values mean that the server was restarted."""
        for kind, name in KINDS.items():
            if not (values := values_of(metrics, name)):
                continue
            total, place = int(sum(values)), (server, kind)
            last = self._last.get(place, total)
            if (more := total - last if total >= last else total) > 0:
                self._increases[place] += more
            self._last[place] = total

    def increases(self) -> Mapping[tuple[int, str], int]:
        """Return the increases by server and kind, and forget them."""
        found, self._increases = self._increases, Counter()
        return found
