"""Metrics of the retrieval service for Prometheus: counts and times, without text, subjects and groups."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class RetrievalMetrics:
    """Metrics of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "sovctl_retrieval_requests", "Requests, by route and status.", ["route", "status"], registry=self._registry
        )
        self.searches = Counter(
            "sovctl_retrieval_searches", "Searches, by path: none, exact, graph.", ["path"], registry=self._registry
        )
        self.short_searches = Counter(
            "sovctl_retrieval_short_searches",
            "Graph searches with fewer results than visible chunks, repeated as exact.",
            registry=self._registry,
        )
        self.seconds = Histogram(
            "sovctl_retrieval_request_seconds",
            "Seconds of a request, by route.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.pool_failures = Counter(
            "sovctl_retrieval_pool_failures", "Failed calls of a pool.", ["pool"], registry=self._registry
        )

    def exposition(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)
