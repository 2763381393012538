"""Windows of samples, and the calendar."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from scaled_site import BUSY, IDLE

from sovctl.engine.scaling.loads import Load, Sample, peaks
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.scaling.rules import Busy, Calendar

ONE, TWO = ReplicaId("chat", 0), ReplicaId("chat", 1)
SAMPLES = [Sample(time_s, {ONE: IDLE, TWO: IDLE}) for time_s in range(0, 300, 15)]


def found(samples: list[Sample], *, is_complete: bool = False, now_s: float = 290.0) -> bool:
    return peaks(samples, [ONE, TWO], now_s=now_s, length_s=120.0, gap_s=45.0, is_complete=is_complete) is not None


def test_the_window_has_the_peak_of_each_quantity() -> None:
    samples = [Sample(0, {ONE: BUSY}), Sample(15, {ONE: IDLE}), Sample(30, {ONE: Load(0.95, 0, 0)})]
    window = peaks(samples, [ONE], now_s=30, length_s=60, gap_s=45, is_complete=False)
    assert window == {ONE: Load(0.95, BUSY.waiting, BUSY.running)}
    assert peaks(samples, [ONE], now_s=30, length_s=15, gap_s=45, is_complete=True) == {ONE: Load(0.95, 0, 1)}


@pytest.mark.parametrize(
    "missing",
    [range(240, 300), range(200, 250), range(300)],
    ids=["newest samples", "samples in the middle", "all samples"],
)
def test_missing_samples_of_one_replica_are_no_window(missing: range) -> None:
    assert found(SAMPLES)
    cut = [Sample(each.time_s, {ONE: IDLE}) if each.time_s in missing else each for each in SAMPLES]
    assert not found(cut)


def test_a_replica_that_began_to_serve_has_a_short_window_and_no_complete_one() -> None:
    young = [Sample(each.time_s, {ONE: IDLE}) if each.time_s < 260 else each for each in SAMPLES]
    assert found(young)
    assert not found(young, is_complete=True)


def test_samples_that_end_are_old() -> None:
    assert not found(SAMPLES, now_s=400.0)


@pytest.mark.parametrize(
    ("at", "horizon_s", "replicas"),
    [
        ("2026-06-01T05:57:00", 0, 0),  # Monday, 07:57 in Berlin
        ("2026-06-01T05:58:00", 0, 3),
        ("2026-06-01T05:50:00", 600, 3),
        ("2026-06-01T15:59:00", 0, 3),
        ("2026-06-01T16:00:00", 0, 0),
        ("2026-06-06T08:00:00", 0, 0),  # Saturday
    ],
)
def test_busy_hours_are_of_the_time_zone_of_the_site(at: str, horizon_s: float, replicas: int) -> None:
    spans = tuple(
        (day * 1440 + 478, day * 1440 + 1080) for day in range(1, 6)
    )  # 08:00 less 2 minutes of lead, to 18:00
    calendar = Calendar("Europe/Berlin", {"chat": (Busy(spans, 3),)})
    now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert calendar.required("chat", now, horizon_s=horizon_s) == replicas
    assert calendar.required("code", now) == 0


def test_a_span_through_the_end_of_the_week_meets_its_begin() -> None:
    calendar = Calendar("UTC", {"chat": (Busy(((10000, 10200),), 2),)})
    assert calendar.required("chat", datetime(2026, 6, 7, 1, 0, tzinfo=UTC)) == 2  # Sunday 01:00 is minute 60
    assert calendar.required("chat", datetime(2026, 6, 7, 3, 0, tzinfo=UTC)) == 0
