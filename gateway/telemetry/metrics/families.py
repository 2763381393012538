"""Counters, gauges and histograms: a dict from label values to numbers. Not for several threads.

A request moves a dozen numbers. prometheus_client's own metrics take a lock for each (measured 2026-11, kept children:
0.4 us a counter, 1.2 us a histogram, against 0.2 and 0.3 us here), so the numbers are kept here, and that library
writes the text when somebody asks (`exposition`).

    requests = Counter("requests_total", "Answered requests.", "route", "status")
    requests.add("cloud", "200")
    waited = Histogram("waited_seconds", "...", (0.001, 0.01, 0.1), "surface")
    waited.at("embeddings").observe(0.0021)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Literal

Key = tuple[str, ...]
"""Label values, in the order of the family's labels."""

MOST_SERIES = 1000
"""Label sets of one family; what comes after counts as `other`. Labels here are names from the settings and fixed
words, so a site has a few hundred; the limit is for our mistakes."""

_OTHER = "other"


class Family(ABC):
    """What the three have in common.

    Args:
        name: without the prefix of all metrics.
        about: one sentence for the reader of the text.
        labels: their names.
    """

    kind: Literal["counter", "gauge", "histogram"]

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name = name
        self.about = about
        self.labels = labels
        self.values: dict[Key, Any] = {}

    def bounded(self, key: Key) -> Key:
        """`key`, or the one that stands for all that are too many."""
        if len(key) != len(self.labels):
            raise ValueError(f"{self.name}: expected {len(self.labels)} label values, got {len(key)}")
        return key if len(self.values) < MOST_SERIES else (_OTHER,) * len(self.labels)

    @abstractmethod
    def merge(self, values: Mapping[Key, Any]) -> None:
        """Take in what another process counted."""


class Counter(Family):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        super().__init__(name, about, *labels)
        if not labels:
            self.values[()] = 0

    def add(self, *key: str, by: float = 1) -> None:
        """Count once, or `by` times."""
        try:
            self.values[key] += by
        except KeyError:
            key = self.bounded(key)
            self.values[key] = self.values.get(key, 0) + by

    def merge(self, values: Mapping[Key, float]) -> None:
        """Add."""
        for key, value in values.items():
            self.add(*key, by=value)


class Gauge(Family):
    """A number that goes up and down.

    Args:
        together: what the numbers of several processes make: their sum, or the largest one.
    """

    kind = "gauge"

    def __init__(self, name: str, about: str, *labels: str, together: Literal["sum", "max"] = "sum") -> None:
        super().__init__(name, about, *labels)
        self.together = together
        if not labels:
            self.values[()] = 0

    def move(self, by: float, *key: str) -> None:
        """Add to it."""
        try:
            self.values[key] += by
        except KeyError:
            key = self.bounded(key)
            self.values[key] = self.values.get(key, 0) + by

    def put(self, value: float, *key: str) -> None:
        """Set it."""
        self.values[key if key in self.values else self.bounded(key)] = value

    def merge(self, values: Mapping[Key, float]) -> None:
        """Add, or take the larger one."""
        for key, value in values.items():
            if self.together == "sum":
                self.move(value, *key)
            else:
                self.put(max(value, self.values.get(key, value)), *key)


class Series:
    """One label set of a histogram; keep it where many values are observed."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """How many values fell between a bound and the one before it; the last one counts those above all bounds."""
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class Histogram(Family):
    """How often values were how large.

    Args:
        bounds: upper ends of the buckets, ascending, without infinity.
    """

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: tuple[float, ...], *labels: str) -> None:
        super().__init__(name, about, *labels)
        self.bounds = bounds
        self.values: dict[Key, Series] = {}
        if not labels:
            self.values[()] = Series(bounds)

    def at(self, *key: str) -> Series:
        """The series of a label set."""
        series = self.values.get(key)
        if series is None:
            key = self.bounded(key)
            series = self.values.setdefault(key, Series(self.bounds))
        return series

    def observe(self, value: float, *key: str) -> None:
        """Count a value."""
        try:
            series = self.values[key]
        except KeyError:
            series = self.at(*key)
        series.counts[bisect_left(self.bounds, value)] += 1
        series.total += value

    def merge(self, values: Mapping[Key, Series]) -> None:
        """Add bucket by bucket."""
        for key, theirs in values.items():
            mine = self.at(*key)
            mine.counts = [a + b for a, b in zip(mine.counts, theirs.counts, strict=True)]
            mine.total += theirs.total
