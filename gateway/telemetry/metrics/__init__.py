"""Metrics of the gateway for Prometheus, without content, client names and unbounded labels.

families      counters, gauges, histograms: plain dicts and lists, about 0.1 us per count
table         definitions of all metrics
exposition    the Prometheus text format, written by prometheus_client
sharing       totals of several worker processes
"""

from .sharing import MetricsFolder
from .table import Metrics

__all__ = ["Metrics", "MetricsFolder"]
