"""Figures about the gateway, for Prometheus: no content, no names of clients, no unbounded labels.

families      counters, gauges, histograms: plain dicts and lists, some 0.1 us to count
table         every metric there is
exposition    the text that Prometheus reads, made by prometheus_client
sharing       several worker processes, one scrape
"""

from .sharing import MetricsFolder
from .table import Metrics

__all__ = ["Metrics", "MetricsFolder"]
