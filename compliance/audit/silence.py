"""Checks that the writer of a ledger did not pause: each heartbeat announces the time until the next one.

- A gap within a run is a finding: records could have been suppressed, or the clock was stepped.
- A gap that ends with the start of the writer, without a record of its end, is a note: it was killed.
- After the last heartbeat, silence is a finding only with the time at which the ledger was copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..ledger.reader import LedgerReader
from .clock import parsed_time
from .result import AuditResult

AREA = "silence"
GRACE = 3.0  # chosen: intervals without a heartbeat until a gap is a finding; a busy disk delays one heartbeat
_STARTS, _ENDS = ("gateway.start",), ("gateway.stop",)
_BEATS = ("gateway.heartbeat", "heartbeat")
_MARKS = (b'"type":"gateway.start"', b'"type":"gateway.stop"', b'"type":"gateway.heartbeat"', b'"type":"heartbeat"')


@dataclass(frozen=True)
class _Expectation:
    """The next heartbeat that a record announces."""

    index: int
    time: datetime
    interval_s: float

    def silent_s(self, until: datetime) -> float:
        """Return the seconds of silence up to `until`; 0 within the grace."""
        seconds = (until - self.time).total_seconds()
        return seconds if seconds > GRACE * self.interval_s else 0.0


def check_silence(reader: LedgerReader, result: AuditResult, *, as_of: datetime | None = None) -> None:
    """Add a finding for each gap between heartbeats, and a note for each killed writer.

    Args:
        as_of: time at which the ledger was copied, or now for a running site; None: unknown.
    """
    expected: _Expectation | None = None
    beats = unsynchronized = longest_queue = 0
    for entry in reader.entries():
        if not any(mark in entry.data for mark in _MARKS):
            continue
        record = entry.record
        kind, time = str(record.get("type")), parsed_time(str(record.get("time", "")))
        if time is None or kind not in (*_STARTS, *_ENDS, *_BEATS):
            continue
        if expected and (silent_s := expected.silent_s(time)):
            _report_gap(expected, entry.leaf_index, silent_s, result, was_killed=kind in _STARTS)
        beats += kind in _BEATS
        unsynchronized += kind in _BEATS and not _is_synchronized(record)
        longest_queue = max(longest_queue, _queue_depth(record))
        interval_s = _interval_s(record)
        expected = _Expectation(entry.leaf_index, time, interval_s) if interval_s else None
    if beats:
        result.facts.append(
            f"{AREA}: {beats} heartbeats, {unsynchronized} of them with an unsynchronized clock; "
            f"at most {longest_queue} records waited for the disk"
        )
    if expected and as_of and (silent_s := expected.silent_s(as_of)):
        message = f"no heartbeat since entry {expected.index}, {round(silent_s)} s before the given time"
        result.find(AREA, f"{message}; the writer stopped, or later entries were cut off", first_index=expected.index)
    elif expected and not as_of:
        result.limits.append(
            f"the last heartbeat is of {expected.time:%Y-%m-%dT%H:%M:%SZ}; give the time of the copy with --as-of to "
            "detect later silence"
        )


def _report_gap(expected: _Expectation, index: int, silent_s: float, result: AuditResult, *, was_killed: bool) -> None:
    gap = f"no heartbeat for {round(silent_s)} s between entries {expected.index} and {index}"
    if was_killed:
        result.notes.append(f"{AREA}: {gap}: the writer ended without a record of its end, and was started again")
    else:
        result.find(AREA, f"{gap}, expected one every {expected.interval_s:g} s", first_index=index)


def _interval_s(record: dict[str, Any]) -> float:
    """Return the seconds until the next heartbeat; 0 if none is expected."""
    value = record.get("heartbeat_s") if record.get("type") in _STARTS else record.get("interval_s")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0


def _queue_depth(record: dict[str, Any]) -> int:
    """Return the records that waited at a heartbeat; 0 if an earlier release wrote it."""
    value = record.get("queue_depth")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_synchronized(record: dict[str, Any]) -> bool:
    clock = record.get("clock")
    return isinstance(clock, dict) and clock.get("is_synchronized") is True
