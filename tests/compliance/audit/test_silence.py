"""Silence is evidence: a gap between heartbeats is found, and an orderly or killed writer is no finding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.audit.ledger import audit_ledger
from sovctl.compliance.ledger.clock_state import ClockState, read_clock
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.upkeep import Upkeep
from sovctl.compliance.signing import SigningKey

ORIGIN = "sovctl.site/gateway"
KEY = SigningKey.generate()
START = datetime(2026, 11, 28, 10, tzinfo=UTC)
SYNCHRONIZED = {"is_synchronized": True, "offset_us": 3, "max_error_us": 900}


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def beat(seconds: float, **fields: Any) -> dict[str, Any]:
    return {"type": "gateway.heartbeat", "time": at(seconds), "interval_s": 60, "clock": SYNCHRONIZED, **fields}


def started(seconds: float) -> dict[str, Any]:
    return {"type": "gateway.start", "time": at(seconds), "heartbeat_s": 60}


def stopped(seconds: float) -> dict[str, Any]:
    return {"type": "gateway.stop", "time": at(seconds)}


def log_of(directory: Path, *records: dict[str, Any]) -> Path:
    with Ledger.open(directory, origin=ORIGIN, key=KEY) as ledger:
        ledger.append(records)
    return directory


def silences(directory: Path, as_of: float | None = None) -> list[int | None]:
    time = None if as_of is None else START + timedelta(seconds=as_of)
    return [each.first_index for each in audit_ledger(directory, as_of=time).findings if each.area == "silence"]


def test_regular_heartbeats_are_no_finding(tmp_path: Path) -> None:
    log_of(tmp_path, started(0), *(beat(60 * number) for number in range(1, 20)), stopped(1200), started(9000))
    assert silences(tmp_path, as_of=9030) == []


@pytest.mark.parametrize("gap_s", [181, 3600])
def test_a_gap_within_a_run_is_found_with_the_entry_after_it(tmp_path: Path, gap_s: int) -> None:
    log_of(tmp_path, started(0), beat(60), {"type": "gateway.request", "time": at(61)}, beat(60 + gap_s), stopped(9999))
    assert silences(tmp_path) == [3, 4] if gap_s == 181 else [3]


def test_one_late_heartbeat_is_no_finding(tmp_path: Path) -> None:
    log_of(tmp_path, started(0), beat(60), beat(239), stopped(300))
    assert silences(tmp_path) == []


def test_a_killed_writer_is_a_note(tmp_path: Path) -> None:
    log_of(tmp_path, started(0), beat(60), started(4000), beat(4060), stopped(4061))
    result = audit_ledger(tmp_path)
    assert result.findings == []
    assert any("ended without a record of its end" in note for note in result.notes)


def test_silence_until_the_time_of_the_copy_is_found(tmp_path: Path) -> None:
    log_of(tmp_path, started(0), beat(60))
    assert silences(tmp_path, as_of=200) == []
    assert silences(tmp_path, as_of=241) == [1]
    assert any("--as-of" in limit for limit in audit_ledger(tmp_path).limits)


def test_unsynchronized_clocks_are_counted(tmp_path: Path) -> None:
    log_of(
        tmp_path, started(0), beat(60), beat(120, clock=None), beat(180, clock=SYNCHRONIZED | {"is_synchronized": 0})
    )
    assert (
        "silence: 3 heartbeats, 2 of them with an unsynchronized clock; at most 0 records waited for the disk"
        in audit_ledger(tmp_path).facts
    )


def test_upkeep_writes_a_heartbeat_with_the_state_of_the_clock(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, origin=ORIGIN, key=KEY) as ledger:
        fields = {"type": "gateway.heartbeat", "site": "bank"}
        seconds = [0.0]
        upkeep = Upkeep(
            ledger,
            heartbeat=fields,
            interval_s=3600,
            clock=lambda: ClockState(True, -7, 1200),
            monotonic=lambda: seconds[0],
        )
        assert not upkeep.is_due()  # the record of the start is the first mark
        seconds[0] = 3600
        assert upkeep.is_due()
        upkeep.run(START.timestamp(), queue_depth=12)
        assert not upkeep.is_due()
        upkeep.run(START.timestamp() + 1)
    [entry] = LedgerReader(tmp_path).entries()
    assert entry.record == {
        "type": "gateway.heartbeat",
        "site": "bank",
        "time": "2026-11-28T10:00:00Z",
        "interval_s": 3600,
        "clock": {"is_synchronized": True, "offset_us": -7, "max_error_us": 1200},
        "queue_depth": 12,
    }


def test_reads_the_clock_of_this_kernel() -> None:
    found = read_clock()
    assert found is not None
    assert abs(found.offset_us) < 10_000_000
    assert found.max_error_us >= 0
