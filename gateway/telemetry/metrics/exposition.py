"""Prometheus text, written by prometheus_client; OpenMetrics if the scraper requests it.

content_type, body = exposition(metrics, accept="application/openmetrics-text")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from .families import Family, Histogram
from .table import Metrics, full_name


def exposition(metrics: Metrics, *, accept: str = "") -> tuple[str, bytes]:
    """Return content type and body.

    Args:
        accept: the scraper's `Accept` header.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics))
    encode, content_type = choose_encoder(accept)
    return content_type, encode(registry)


class _Collector(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for family in self._metrics.families.values():
            yield _metric(family)


def _metric(family: Family) -> Metric:
    name, about = full_name(family), family.about
    if isinstance(family, Histogram):
        histogram = HistogramMetricFamily(name, about, labels=family.labels)
        bounds = [*map(floatToGoString, family.bounds), "+Inf"]
        for key, series in family.values.items():
            below, buckets = 0, []
            for bound, count in zip(bounds, series.counts, strict=True):
                below += count
                buckets.append((bound, below))
            histogram.add_metric(key, buckets, series.total)
        return histogram
    metric = (CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily)(name, about, labels=family.labels)
    for key, value in family.values.items():
        metric.add_metric(key, value)
    return metric
