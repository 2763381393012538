"""Counters and histograms in Prometheus' text format 0.0.4; no content, no unbounded labels.

metrics = Metrics()
metrics.count("requests_total", route="cloud", status="200")
metrics.observe("added_seconds", 0.0021)
metrics.text()
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

_PREFIX = "sovctl_gateway_"

_COUNTERS = {
    "requests_total": "Answered requests, by where they went (pool, cloud) and status.",
    "refused_total": "Requests without an answer, by reason code.",
    "findings_total": "Identifiers found in requests, by kind.",
    "tokens_total": "Tokens in answers, by what became of them: restored, withheld, unknown, malformed.",
    "upstream_failures_total": "Failed attempts, by upstream and cause.",
    "fallbacks_total": "Requests that another upstream than the first one answered.",
    "reloads_total": "Times that settings were read anew, by outcome: applied, unchanged, refused.",
}
_GAUGES = {
    "in_flight_requests": "Requests being served now.",
    "reload_failed": "1 while the settings in the files were refused and older ones are in force.",
}
# Bounds in seconds: the budget is a few milliseconds for ours, the 2 s and 5 s classes for the model's.
_HISTOGRAMS = {
    "added_seconds": (
        "Time from the whole request to the first byte sent upstream.",
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0),
    ),
    "first_byte_seconds": (
        "Time from sending upstream to the beginning of the answer.",
        (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    ),
}


@dataclass
class _Histogram:
    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)


class Metrics:
    """All metrics of one process. Not for several threads."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._gauges = dict.fromkeys(_GAUGES, 0)
        self._histograms = {name: _Histogram(bounds) for name, (_, bounds) in _HISTOGRAMS.items()}

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter of `_COUNTERS`."""
        key = (name, tuple(sorted(labels.items())))
        self._counters[key] = self._counters.get(key, 0) + by

    def move(self, name: str, by: int) -> None:
        """Add to a gauge of `_GAUGES`."""
        self._gauges[name] += by

    def put(self, name: str, value: int) -> None:
        """Set a gauge of `_GAUGES`."""
        self._gauges[name] = value

    def observe(self, name: str, seconds: float) -> None:
        """Add to a histogram of `_HISTOGRAMS`."""
        histogram = self._histograms[name]
        histogram.counts[bisect_left(histogram.bounds, seconds)] += 1
        histogram.total += seconds

    def text(self) -> str:
        """Everything, sorted by name."""
        lines: list[str] = []
        for name, explanation in _COUNTERS.items():
            lines += _head(name, explanation, "counter")
            for (counter, labels), value in sorted(self._counters.items()):
                if counter == name:
                    lines.append(f"{_PREFIX}{name}{_labels(labels)} {value:g}")
        for name, explanation in _GAUGES.items():
            lines += [*_head(name, explanation, "gauge"), f"{_PREFIX}{name} {self._gauges[name]}"]
        for name, (explanation, bounds) in _HISTOGRAMS.items():
            lines += _head(name, explanation, "histogram")
            histogram, below = self._histograms[name], 0
            for bound, count in zip([*map(str, bounds), "+Inf"], histogram.counts, strict=True):
                below += count
                lines.append(f'{_PREFIX}{name}_bucket{{le="{bound}"}} {below}')
            lines += [f"{_PREFIX}{name}_sum {histogram.total:.6f}", f"{_PREFIX}{name}_count {below}"]
        return "\n".join(lines) + "\n"


def _head(name: str, explanation: str, kind: str) -> list[str]:
    return [f"# HELP {_PREFIX}{name} {explanation}", f"# TYPE {_PREFIX}{name} {kind}"]


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
