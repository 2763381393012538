"""Counters between two runs: growth, a cleared counter, another boot, and the seconds after a boot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.counters import CounterReading, Growth, grown, parse_boot, replaces
from sovctl.engine.facts.unreadable import Unreadable

BOOT, OTHER = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
GRACE_S, DAY_S = 1800, 86400


def reading(uptime_s: float, count: int, boot_id: str = BOOT) -> CounterReading:
    return CounterReading(boot_id, uptime_s, {"errors": count})


def growth(now: CounterReading, earlier: CounterReading | None) -> Growth:
    return grown("errors", now, earlier, grace_s=GRACE_S)


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        (reading(10_000, 7), Growth(5, 90_000, is_since_boot=False)),
        (reading(10_000, 15), Growth(12, 90_000, is_since_boot=False)),
        (None, Growth(12, 100_000, is_since_boot=True)),
        (reading(10_000, 7, OTHER), Growth(12, 100_000, is_since_boot=True)),
        (reading(GRACE_S - 1, 7), Growth(12, 100_000, is_since_boot=True)),
        (reading(200_000, 7), Growth(12, 100_000, is_since_boot=True)),
        (CounterReading(BOOT, 10_000, {}), Growth(12, 100_000, is_since_boot=True)),
    ],
    ids=["grown", "cleared", "first-run", "other-boot", "boot-grace", "from-the-future", "new-counter"],
)
def test_growth_is_since_a_comparable_reading_or_else_since_the_boot(
    earlier: CounterReading | None, expected: Growth
) -> None:
    assert growth(reading(100_000, 12), earlier) == expected


def test_a_short_period_is_not_extrapolated() -> None:
    assert Growth(3, 10, is_since_boot=False).per(3600) == 3
    assert Growth(3, 7200, is_since_boot=False).per(3600) == 1.5
    assert Growth(3, 7200, is_since_boot=True).per(DAY_S, shortest_s=3600) == 36


def test_a_reading_is_kept_for_its_window_so_that_a_second_run_sees_the_same_growth() -> None:
    earlier = reading(10_000, 7)
    assert not replaces(reading(10_020, 90), earlier, window_s=3600, grace_s=GRACE_S)
    assert replaces(reading(13_600, 90), earlier, window_s=3600, grace_s=GRACE_S)
    for incomparable in (None, reading(10_000, 7, OTHER), reading(GRACE_S - 1, 7)):
        assert replaces(reading(10_020, 90), incomparable, window_s=3600, grace_s=GRACE_S)


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(1, 10**7),
    st.one_of(st.none(), st.floats(1, 10**7)),
    st.sampled_from([BOOT, OTHER]),
)
def test_growth_is_never_negative_and_never_more_than_the_counter(
    count: int, before: int, uptime_s: float, earlier_s: float | None, boot_id: str
) -> None:
    earlier = None if earlier_s is None else reading(earlier_s, before, boot_id)
    found = growth(reading(uptime_s, count), earlier)
    assert 0 <= found.count <= count
    assert 0 < found.seconds <= uptime_s


@pytest.mark.parametrize("text", ["", BOOT, f"{BOOT}\nsoon 1.0\n", "x\n1.0 2.0\n", f"{BOOT}\n1.0 2.0 3.0\n"])
def test_an_incomplete_time_is_unreadable(text: str) -> None:
    assert parse_boot(f"{BOOT}\n36000.00 70000.00\n") == (BOOT, 36000.0)
    with pytest.raises(Unreadable):
        parse_boot(text)
