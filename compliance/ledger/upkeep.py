"""Regular work of the process that writes a ledger: heartbeats, records of other processes, retention.

    upkeep = Upkeep(ledger, heartbeat={"type": "gateway.heartbeat", "site": "bank"}, interval_s=60)
    upkeep.run(time.time())     # about once a second; returns at once if nothing is due

A heartbeat states time, interval, clock, and the number of records that wait for the disk. A pause of the writer, or a
cut tail, is a gap between heartbeats, which `sovctl audit verify` reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from . import pending, pruning
from .clock_state import ClockState, read_clock
from .store import Ledger

INTERVAL_S = 60.0
"""Default seconds between heartbeats, chosen: 525,600 entries a year, 130 MB."""
_PRUNE_EVERY_S = 86_400.0


class Upkeep:
    """Upkeep of one ledger.

    Args:
        heartbeat: fields of each heartbeat, with its `type`.
        interval_s: seconds between heartbeats; 0: none.
        retention_days: days for which entries are kept; None: without limit.
        clock: returns the state of the clock.
        monotonic: returns seconds that never go back. The first heartbeat is due after one interval.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        heartbeat: Mapping[str, Any],
        interval_s: float = INTERVAL_S,
        retention_days: int | None = None,
        clock: Callable[[], ClockState | None] = read_clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._heartbeat = dict(heartbeat)
        self._interval_s = interval_s
        self._retention_days = retention_days
        self._clock = clock
        self._monotonic = monotonic
        self._beat_at = monotonic() + interval_s
        self._prune_at = 0.0

    def is_due(self) -> bool:
        """Return whether `run` has work. Does not block."""
        return self._is_beat_due() or self._is_prune_due() or pending.count(self._ledger.directory) > 0

    def run(self, now_s: float, *, queue_depth: int = 0) -> None:
        """Do the work that is due.

        Args:
            now_s: POSIX time in seconds.
            queue_depth: number of records in the queue of the writer; a heartbeat adds those in `pending`.

        Raises:
            LedgerUnwritable: a record is not durable; the work is repeated by the next call.
        """
        depth = queue_depth + pending.count(self._ledger.directory)
        self._ledger.adopt_pending()
        if self._is_beat_due():
            record = heartbeat_record(self._heartbeat, self._interval_s, now_s, self._clock(), queue_depth=depth)
            self._ledger.append([record])
            self._beat_at = self._monotonic() + self._interval_s
        if self._is_prune_due():
            pruning.prune_older(self._ledger, days=self._retention_days or 0, now_s=now_s)
            self._prune_at = self._monotonic() + _PRUNE_EVERY_S
        self._ledger.checkpoint()

    def _is_beat_due(self) -> bool:
        return self._interval_s > 0 and self._monotonic() >= self._beat_at

    def _is_prune_due(self) -> bool:
        return self._retention_days is not None and self._monotonic() >= self._prune_at


def heartbeat_record(
    fields: Mapping[str, Any], interval_s: float, now_s: float, clock: ClockState | None, *, queue_depth: int
) -> dict[str, Any]:
    """Return a heartbeat record. `clock` is null in it if the state of the clock is unknown.

    Args:
        queue_depth: number of records that were not written yet when the heartbeat was due.

    Source: Delegated Regulation (EU) 2024/1774, Article 12(2)(e) and (f): failures of logging, synchronized clocks.
    """
    return {
        **fields,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s)),
        "interval_s": round(interval_s),
        "clock": clock.as_json() if clock else None,
        "queue_depth": queue_depth,
    }
