"""Work budget of one request: counts the work of its inspection, refuses an excess, and can be cancelled.

    work = Work(limit=budget_of(len(raw_body), units_per_mib=1_000_000))
    with work.current():
        inspector.inspect(body)      # calls `spend` with the number of items before each loop over them
    work.cancel()                    # from another thread: the next `spend` raises Cancelled

A unit is about a microsecond of one core (measured 2026-11). Units are counts of characters, candidates, findings and
words, each with a weight. The same request always has the same count, on every machine and under every load.

- `spend` raises `WorkExceeded` before the work that exceeds the budget is done. As a guard against work that is not
  counted, it also raises it when the thread used four times the processor time of its budget.
- `spend` raises `Cancelled` after `cancel`.
- Without a current `Work`, `spend` does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_MIB = 1 << 20
_GUARD_RATIO = 4  # processor seconds per second of the budget's units; a loaded machine needs twice the time
_BETWEEN_GUARDS = 20_000  # units between two readings of the clock
_TOGETHER = 32  # items of a loop that are charged together


class WorkStopped(Exception):
    """The work of a request ended before it was complete."""


class WorkExceeded(WorkStopped):
    """The request needs more work, or more processor time, than its budget allows."""


class Cancelled(WorkStopped):
    """The request was cancelled: its client left, or its deadline passed."""


class Work:
    """Work of one request.

    Args:
        limit: units.
    """

    __slots__ = ("_guarded", "_is_cancelled", "_started_s", "done", "limit")

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        self.done = 0
        """Units so far."""
        self._is_cancelled = False
        self._guarded = _BETWEEN_GUARDS
        self._started_s = 0.0

    def spend(self, units: int) -> None:
        """Count units.

        Raises:
            WorkExceeded: the sum exceeds the limit.
            Cancelled: the work was cancelled.
        """
        self.done += units
        if self.done > self.limit:
            raise WorkExceeded
        if self._is_cancelled:
            raise Cancelled
        if self.done > self._guarded:
            self._guarded = self.done + _BETWEEN_GUARDS
            if (time.thread_time() - self._started_s) * 1e6 > _GUARD_RATIO * self.limit:
                raise WorkExceeded

    def cancel(self) -> None:
        """Make the next `spend` raise `Cancelled`. May be called by another thread."""
        self._is_cancelled = True

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the work that `spend` counts, in this thread or task."""
        self._started_s = time.thread_time()
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Work | None] = ContextVar("work", default=None)


def spend(units: int) -> None:
    """Count units of the current work, if there is one.

    Raises:
        WorkExceeded: as `Work.spend`.
        Cancelled: as `Work.spend`.
    """
    work = _CURRENT.get()
    if work is not None:
        work.spend(units)


def metered(items: Sequence[T], units: int) -> Iterator[T]:
    """Yield the items, and count `units` for each of them before it is processed.

    Raises:
        WorkExceeded: as `Work.spend`; immediately if all items together exceed the budget.
        Cancelled: as `Work.spend`.
    """
    work = _CURRENT.get()
    if work is None or len(items) <= _TOGETHER:
        if work is not None:
            work.spend(units * len(items))
        yield from items
        return
    if work.done + units * len(items) > work.limit:
        raise WorkExceeded
    for first in range(0, len(items), _TOGETHER):
        together = items[first : first + _TOGETHER]
        work.spend(units * len(together))
        yield from together


def budget_of(body_bytes: int, *, units_per_mib: int) -> int:
    """Return the budget of a request in units; a body of less than 1 MiB has the budget of 1 MiB."""
    return max(units_per_mib, units_per_mib * body_bytes // _MIB)
