"""Budget of listed names: how many names of the site's list may be found in the requests of a key in an hour.

A client that sends guesses learns from the reaction which names are listed. After its budget it is refused for the rest
of the hour, with and without listed names, so that the refusal itself tells nothing. Memory is bounded. Pure: time is
an argument. Each worker has an equal share of a budget.

    hits = ListedHits()
    hits.retry_after_s(principal.subject, now_s=now_s)       # None while it may ask
    hits.count(principal.subject, 3, limit=10_000, now_s=now_s)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from ..domain.entities import EntityType

MAX_SUBJECTS = 8192
"""Clients and people with a count of their own; the one that asked longest ago is dropped. About 2 MB."""
WINDOW_S = 3600.0
PREFIX = "LISTED_"
"""Beginning of the detector's rules for listed names and numbers (`detect/edm/matching/finder.py:SCORES`)."""


@dataclass(slots=True)
class _Window:
    began_s: float
    count: int
    limit: int


class ListedHits:
    """Listed names found in the requests of each client, in this process."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, _Window] = OrderedDict()

    def retry_after_s(self, subject: str, *, now_s: float) -> float | None:
        """Return the seconds until a client may ask again; None if it may now.

        Args:
            now_s: monotonic seconds.
        """
        window = self._windows.get(subject)
        if window is None or window.count <= window.limit:
            return None
        left_s = window.began_s + WINDOW_S - now_s
        return left_s if left_s > 0 else None

    def count(self, subject: str, hits: int, *, limit: int, now_s: float) -> bool:
        """Count listed names, and return whether the client is over its budget.

        Args:
            limit: names in this process and hour.
        """
        window = self._windows.pop(subject, None)
        if window is None or now_s - window.began_s >= WINDOW_S:
            window = _Window(now_s, 0, limit)
        while len(self._windows) >= MAX_SUBJECTS:
            self._windows.popitem(last=False)
        self._windows[subject] = window
        window.limit = limit
        window.count += hits
        return window.count > limit


def listed_hits(found: Mapping[tuple[EntityType, str], int]) -> int:
    """Return how many findings are listed names or numbers.

    Args:
        found: findings by entity type and rule.
    """
    return sum(count for (_, rule), count in found.items() if rule.startswith(PREFIX))
