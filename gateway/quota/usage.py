"""Counts of used tokens and cost by day, for the usage page; limits do not depend on them.

A process adds up in memory, and `Quota.flush` writes the sums to the store once a second. A crash loses the last second
of them. Rows contain names from the settings and keyed digests of persons, and no text. Their number is bounded:
`MAX_KEYS` new ones a day from each process; further clients are counted together as `OTHER`.

    counts = UsageCounts(clock=time.time)
    counts.add(UsageKey(counts.today, "retail", "cards", "client:branch", "assistant", "chat"), usage, cost=812_000)
    rows = counts.take()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .need import Usage
from .window import Window

MAX_KEYS = 5_000
OTHER = "other"
"""Client of rows beyond `MAX_KEYS`."""


class UsageKey(NamedTuple):
    """Key of a row."""

    day: int
    """Days since 1970, UTC."""
    tenant: str
    team: str
    """Empty without a team."""
    client: str
    """`client:NAME`, or `person:DIGEST` for a token of an identity provider."""
    model: str
    """Model name that the client requested."""
    upstream: str


class UsageSums(NamedTuple):
    """Sums of a row."""

    requests: int = 0
    """Answers of the upstream, including incomplete ones."""
    unmeasured: int = 0
    """Those of `requests` for which the upstream reported no usage."""
    prompt: int = 0
    completion: int = 0
    cost: int = 0
    """Nano."""

    def plus(self, other: UsageSums) -> UsageSums:
        """Return the sums of both."""
        return UsageSums(*(one + two for one, two in zip(self, other, strict=True)))


UsageRow = tuple[UsageKey, UsageSums]


class UsageCounts:
    """Sums of one process that are not in the store yet.

    Args:
        clock: returns seconds since 1970.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sums: dict[UsageKey, UsageSums] = {}
        self._known: set[UsageKey] = set()
        self._known_day = 0

    @property
    def today(self) -> int:
        """Days since 1970, UTC."""
        return Window.DAY.slot(self._clock())

    def add(self, key: UsageKey, usage: Usage | None, *, cost: int) -> None:
        """Count an answer.

        Args:
            usage: None if the upstream reported none.
            cost: nano.
        """
        sums = UsageSums(1, 1) if usage is None else UsageSums(1, 0, usage.prompt, usage.completion, cost)
        self._put(self._bounded(key), sums)

    def take(self) -> list[UsageRow]:
        """Return all sums, and begin again."""
        sums, self._sums = self._sums, {}
        return list(sums.items())

    def put_back(self, rows: Iterable[UsageRow]) -> None:
        """Add sums that could not be stored."""
        for key, sums in rows:
            self._put(key, sums)

    def _put(self, key: UsageKey, sums: UsageSums) -> None:
        before = self._sums.get(key)
        self._sums[key] = sums if before is None else before.plus(sums)

    def _bounded(self, key: UsageKey) -> UsageKey:
        if key.day != self._known_day:
            self._known, self._known_day = set(), key.day
        if key in self._known:
            return key
        if len(self._known) >= MAX_KEYS:
            return key._replace(client=OTHER)
        self._known.add(key)
        return key
