"""Windows of limits: what counts together, and when it is free again."""

from __future__ import annotations

import calendar
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.quota.window import Window, granted, retry_at

TIMES = st.floats(1_700_000_000, 2_200_000_000)
WINDOWS = st.sampled_from([*Window])


@given(WINDOWS, TIMES)
def test_a_time_lies_in_its_slot(window: Window, now: float) -> None:
    slot = window.slot(now)
    assert window.starts(slot) <= now < window.starts(slot + 1)


@given(TIMES, st.floats(0, 60, exclude_max=True))
def test_whatever_minute_one_looks_at_lies_within_the_slots_that_count_together(now: float, ago_s: float) -> None:
    last = Window.MINUTE.slot(now)
    assert Window.MINUTE.first(last) <= Window.MINUTE.slot(now - ago_s) <= last


@given(WINDOWS, TIMES, st.integers(0, 100))
def test_a_slot_counts_until_it_is_free(window: Window, now: float, later: int) -> None:
    used, slot = window.slot(now), window.slot(now) + later
    assert (window.first(slot) <= used) == (window.starts(slot) < window.free_at(used))


def test_days_and_months_are_those_of_utc() -> None:
    last = calendar.timegm((2027, 2, 28, 23, 59, 59))
    for window in (Window.DAY, Window.MONTH):
        assert window.slot(last) + 1 == window.slot(last + 1)
        assert window.free_at(window.slot(last)) == last + 1
    assert Window.MONTH.slot(calendar.timegm((2026, 12, 31, 0, 0, 0))) + 1 == Window.MONTH.slot(
        calendar.timegm((2027, 1, 1, 0, 0, 0))
    )


AMOUNTS = st.integers(0, 10**6)


@given(AMOUNTS, AMOUNTS, st.lists(st.tuples(st.integers(-5, 10**6), AMOUNTS), max_size=20))
def test_grants_together_never_pass_the_limit_and_are_enough_or_nothing(
    limit: int, taken: int, asked: list[tuple[int, int]]
) -> None:
    before = taken
    for need, wanted in asked:
        amount = granted(limit=limit, taken=taken, need=need, wanted=wanted)
        assert amount == 0 or amount >= max(1, need)
        assert amount > 0 or limit - taken < max(1, need)
        taken += amount
    assert taken <= max(limit, before)


@given(st.dictionaries(st.integers(0, 12), st.integers(1, 50), max_size=13), st.integers(1, 200), st.integers(1, 250))
def test_retry_names_the_first_moment_in_which_it_fits(slots: dict[int, int], limit: int, need: int) -> None:
    now = 12
    at = retry_at(Window.MINUTE, slots, limit=limit, need=need)
    if need > limit:
        assert at is None
        return
    if sum(slots.values()) + need <= limit:
        return  # nobody asks then
    assert at is not None

    def left(slot: int) -> int:
        return limit - sum(amount for each, amount in slots.items() if Window.MINUTE.first(slot) <= each)

    fits = Window.MINUTE.slot(at)
    assert fits > now
    assert left(fits) >= need
    assert all(left(slot) < need for slot in range(now, fits))


@pytest.mark.parametrize("window", [*Window])
def test_slots_follow_each_other_without_a_gap(window: Window) -> None:
    starts = [window.starts(slot) for slot in range(window.slot(1_790_000_000), window.slot(1_790_000_000) + 50)]
    assert all(before < after for before, after in pairwise(starts))
