"""Counters, gauges and histograms: a dict from label values to numbers. Not thread-safe.

A request changes about a dozen numbers. prometheus_client's own metrics take a lock for each (measured 2026-11, kept
children:
0.4 us a counter, 1.2 us a histogram, compared with 0.2 and 0.3 us here). Therefore the numbers are stored here, and
the library only writes the text (`exposition`).

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

MAX_SERIES = 1000
"""Maximum number of label sets of one family; further ones count as `other`. Labels are names from the settings and
fixed words, a few hundred per site, so the limit only guards against programming errors."""

_OTHER = "other"


class Family(ABC):
    """Base class of counters, gauges and histograms.

    Args:
        name: without the common prefix.
        about: the help text, one sentence.
        labels: names of the labels.
    """

    kind: Literal["counter", "gauge", "histogram"]

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name = name
        self.about = about
        self.labels = labels
        self.values: dict[Key, Any] = {}

    def bounded(self, key: Key) -> Key:
        """Return `key`, or `other` if there are too many label sets."""
        if len(key) != len(self.labels):
            raise ValueError(f"{self.name}: expected {len(self.labels)} label values, got {len(key)}")
        return key if len(self.values) < MAX_SERIES else (_OTHER,) * len(self.labels)

    @abstractmethod
    def merge(self, values: Mapping[Key, Any]) -> None:
        """Add the values of another process."""


class Counter(Family):
    """A number that only increases."""

    kind = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        super().__init__(name, about, *labels)
        if not labels:
            self.values[()] = 0

    def add(self, *key: str, by: float = 1) -> None:
        """Increase by `by`."""
        try:
            self.values[key] += by
        except KeyError:
            key = self.bounded(key)
            self.values[key] = self.values.get(key, 0) + by

    def merge(self, values: Mapping[Key, float]) -> None:
        """Add the counts of another process."""
        for key, value in values.items():
            self.add(*key, by=value)


class Gauge(Family):
    """A number that increases and decreases.

    Args:
        together: combination of several processes: their sum, or their maximum.
    """

    kind = "gauge"

    def __init__(self, name: str, about: str, *labels: str, together: Literal["sum", "max"] = "sum") -> None:
        super().__init__(name, about, *labels)
        self.together = together
        if not labels:
            self.values[()] = 0

    def move(self, by: float, *key: str) -> None:
        """Add `by` to the value."""
        try:
            self.values[key] += by
        except KeyError:
            key = self.bounded(key)
            self.values[key] = self.values.get(key, 0) + by

    def put(self, value: float, *key: str) -> None:
        """Set the value."""
        self.values[key if key in self.values else self.bounded(key)] = value

    def merge(self, values: Mapping[Key, float]) -> None:
        """Add the values, or keep the larger ones."""
        for key, value in values.items():
            if self.together == "sum":
                self.move(value, *key)
            else:
                self.put(max(value, self.values.get(key, value)), *key)


class Series:
    """One label set of a histogram; keep a reference if many values are observed."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Number of values between the previous bound and this one; the last entry counts values above all bounds."""
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class Histogram(Family):
    """Distribution of values over buckets.

    Args:
        bounds: upper bounds of the buckets, ascending, without infinity.
    """

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: tuple[float, ...], *labels: str) -> None:
        super().__init__(name, about, *labels)
        self.bounds = bounds
        self.values: dict[Key, Series] = {}
        if not labels:
            self.values[()] = Series(bounds)

    def at(self, *key: str) -> Series:
        """Return the series of a label set."""
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
        """Add the counts of each bucket."""
        for key, theirs in values.items():
            mine = self.at(*key)
            mine.counts = [a + b for a, b in zip(mine.counts, theirs.counts, strict=True)]
            mine.total += theirs.total
