"""Circuits and retry budgets: pure, with time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.http.timeout_header import timeout_s
from sovctl.gateway.upstream.breaker import Breaker, State
from sovctl.gateway.upstream.retry import RetryBudget, retry_after_s


def broken(at_s: float = 0.0) -> Breaker:
    breaker = Breaker(failures_until_open=3, open_s=10)
    for _ in range(3):
        assert breaker.admits(at_s)
        breaker.failed(at_s)
    return breaker


def test_a_circuit_opens_after_failures_in_a_row_and_not_before() -> None:
    breaker = Breaker(failures_until_open=3, open_s=10)
    for _ in range(5):
        breaker.failed(0)
        breaker.failed(0)
        assert breaker.state(0) is State.CLOSED
        breaker.succeeded()
    assert broken().state(9.9) is State.OPEN
    assert not broken().admits(9.9)


def test_a_half_open_circuit_lets_one_probe_through_a_second() -> None:
    breaker = broken()
    assert breaker.state(10) is State.HALF_OPEN
    assert [breaker.admits(10), breaker.admits(10.5), breaker.admits(11), breaker.admits(11.5)] == [True, False] * 2
    breaker.answered()
    assert breaker.admits(11.6)
    assert breaker.state(11.6) is State.CLOSED


def test_would_admit_does_not_consume_the_probe() -> None:
    breaker = broken()
    assert all(breaker.would_admit(10) for _ in range(3))
    assert breaker.admits(10)
    assert not breaker.would_admit(10.5)


def test_each_failed_probe_doubles_the_time_until_an_answer_is_whole() -> None:
    breaker, now_s, waited_s = broken(), 0.0, []
    for _ in range(6):
        opened_s = now_s
        while not breaker.admits(now_s):
            now_s += 1
        waited_s.append(now_s - opened_s)
        breaker.failed(now_s)
    assert waited_s == [10, 20, 40, 80, 80, 80]
    breaker.succeeded()
    for _ in range(3):
        breaker.failed(now_s)
    assert not breaker.admits(now_s + 9)
    assert breaker.admits(now_s + 10)


def test_answers_that_begin_and_break_off_open_the_circuit() -> None:
    breaker = Breaker(failures_until_open=3, open_s=10)
    for _ in range(3):
        breaker.answered()
        breaker.failed(0)
    assert breaker.state(0) is State.OPEN


_EVENTS = st.lists(
    st.tuples(st.sampled_from(["ask", "answered", "succeeded", "failed"]), st.floats(0, 30)), max_size=60
)


@given(_EVENTS)
def test_open_circuit_recovers_and_admits_one_probe_at_a_time(events: list[tuple[str, float]]) -> None:
    breaker, now_s = Breaker(failures_until_open=3, open_s=10), 0.0
    admitted_s: list[float] = []
    for event, passed_s in events:
        now_s += passed_s
        if event == "ask":
            was = breaker.state(now_s)
            would = breaker.would_admit(now_s)
            assert breaker.admits(now_s) is would
            if would and was is State.HALF_OPEN:
                assert not admitted_s or now_s - admitted_s[-1] >= breaker.probe_every_s
                admitted_s.append(now_s)
            assert would is False or was is not State.OPEN
        elif event == "failed":
            breaker.failed(now_s)
            admitted_s.clear()
        else:
            getattr(breaker, event)()
            assert breaker.state(now_s) is State.CLOSED
    assert breaker.would_admit(now_s + 81)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=400))
def test_retries_stay_within_their_share(events: list[tuple[bool, float]]) -> None:
    budget, now_s, requests, retries = RetryBudget(), 0.0, 0, 0
    for is_retry, passed_s in events:
        now_s += passed_s
        if is_retry:
            retries += budget.withdraw(now_s)
        else:
            requests += 1
            budget.deposit(now_s)
    assert retries <= budget.share * requests + budget.free_per_s * (now_s + budget.window_s) + 1e-6


def test_an_outage_is_not_answered_with_twice_the_load() -> None:
    budget = RetryBudget()
    retries = 0
    for number in range(10_000):  # 1,000 a second for ten seconds
        budget.deposit(number / 1000)
        retries += budget.withdraw(number / 1000)
    assert 2000 <= retries <= 2300


def test_retry_budget_expires_and_keeps_a_minimum() -> None:
    budget = RetryBudget()
    for _ in range(10_000):
        budget.deposit(0)
    assert sum(budget.withdraw(1000) for _ in range(5000)) == 100
    assert sum(budget.withdraw(1001) for _ in range(5000)) == 10


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        (b"0", 0.0),
        (b" 7 ", 7.0),
        (b"Fri, 20 Nov 2026 10:00:30 GMT", 30.0),
        (b"Fri, 20 Nov 2026 09:00:00 GMT", 0.0),
        (b"soon", None),
        (b"-1", None),
        (b"1.5", None),
        (b"\xff", None),
        (b"9" * 40, 999_999_999.0),
    ],
)
def test_how_long_a_server_asks_us_to_wait(header: bytes | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=datetime(2026, 11, 20, 10, tzinfo=UTC)) == seconds


@given(st.binary(max_size=40) | st.integers(0, 10**24).map(lambda number: b"Mon, 01 Jan 2020 00:00:00 +%d" % number))
def test_any_header_is_read_or_ignored(header: bytes) -> None:
    seconds = retry_after_s(header, now=datetime(2026, 11, 20, 10, tzinfo=UTC))
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("own", "sdk", "seconds"),
    [
        (None, None, 600),
        ("30", None, 30),
        (None, "20.5", 20.5),
        ("30", "20", 20),
        ("9999", None, 600),
        (None, "x", 600),
    ],
)
def test_the_shortest_patience_counts(own: str | None, sdk: str | None, seconds: float) -> None:
    assert timeout_s(own=own, sdk=sdk, at_most_s=600.0) == seconds


@pytest.mark.parametrize("own", ["", "soon", "0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_refused(own: str) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        timeout_s(own=own, sdk=None, at_most_s=600.0)
