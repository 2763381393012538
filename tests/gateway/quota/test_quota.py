"""Limits of callers and teams over one real store: what is granted, refused, given back and forgotten."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quota_givens import NOON, ONE, Clock, caller, quota
from quota_places import Place

from examples import examples
from sovctl.gateway.access.principal import Principal
from sovctl.gateway.quota.headers import limit_headers, refusal_headers
from sovctl.gateway.quota.meter import LeaseReturn
from sovctl.gateway.quota.need import Amounts, Nano, Usage
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.quota.reservation import UNLIMITED, LimitReached, Reservation
from sovctl.gateway.quota.sqlite_store import SqliteStore
from sovctl.gateway.quota.store import Lease, LeaseRequest, QuotaUnavailable
from sovctl.support.errors import InputError

PRICES = {"currency": "EUR", "upstreams": {"chat": {"input_price_per_million": 1, "output_price_per_million": 2}}}


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def count(limits: Quota, who: Principal, need: Amounts, *, at_most: int = 1000) -> int:
    """How many such requests are let through, one after the other, each over before the next."""
    for number in range(at_most):
        try:
            (await limits.reserve(who, need)).commit(None, None)
        except LimitReached:
            return number
    return at_most


async def used(limits: Quota) -> dict[tuple[str, str], int]:
    return {(subject, kind): amount for subject, kind, _, amount in await limits.used()}


def test_who_has_no_limits_asks_nobody() -> None:
    async def work() -> None:
        limits = quota(None, Clock())
        assert limits.take(caller(), ONE) is UNLIMITED
        with pytest.raises(QuotaUnavailable):
            await limits.reserve(caller(requests_per_minute=1), ONE)

    run(work())


def test_exactly_the_limit_is_let_through_and_the_refusal_says_when_again(place: Place) -> None:
    async def work() -> None:
        clock = Clock(NOON + 3)
        async with quota(await place.store(), clock) as limits:
            who = caller(requests_per_minute=50)
            assert await count(limits, who, ONE) == 50
            with pytest.raises(LimitReached) as caught:
                await limits.reserve(who, ONE)
            assert caught.value.retry_after_s == 62  # the slot of 12:00:00 to 12:00:05 counts until 12:01:05
            clock.now = NOON + 64.9
            assert await count(limits, who, ONE) == 0
            clock.now = NOON + 65
            assert await count(limits, who, ONE) == 50

    run(work())


def test_what_was_not_used_comes_back_and_unknown_use_stays(place: Place) -> None:
    async def work() -> None:
        async with quota(await place.store(), Clock(), prices=PRICES) as limits:
            who = caller(tokens_per_day=1000, cost_per_day=1)
            price = Nano(1000, 2000)
            first = await limits.reserve(who, Amounts(1, 900, 800_000_000))
            with pytest.raises(LimitReached):
                await limits.reserve(who, Amounts(1, 101, 0))
            first.commit(Usage(40, 10), price)
            first.commit(Usage(0, 0), price)  # a second time is no refund
            second = await limits.reserve(who, Amounts(1, 950, 0))
            second.commit(None, price)
            with pytest.raises(LimitReached) as caught:
                await limits.reserve(who, Amounts(1, 1, 0))
            assert caught.value.is_budget
            assert caught.value.retry_after_s == 12 * 3600
            await limits.flush(is_last=True)
            assert await used(limits) == {
                ("client:branch", "tokens_per_day"): 1000,
                ("client:branch", "cost_per_day"): 60_000,
            }

    run(work())


def test_what_was_used_beyond_the_reservation_is_counted(place: Place) -> None:
    async def work() -> None:
        async with quota(await place.store(), Clock()) as limits:
            who = caller(tokens_per_day=1000)
            (await limits.reserve(who, Amounts(1, 600, 0))).commit(Usage(1500, 0), None)
            await limits.flush(is_last=True)
            assert await used(limits) == {("client:branch", "tokens_per_day"): 1500}
            assert await count(limits, who, Amounts(1, 1, 0)) == 0

    run(work())


def test_a_team_shares_its_limit_and_a_member_cannot_pass_his_own(place: Place) -> None:
    async def work() -> None:
        teams = {"cards": {"requests_per_minute": 100}}
        async with quota(await place.store(), Clock(), teams=teams) as limits:
            one = caller("one", "cards", requests_per_minute=70)
            assert await count(limits, one, ONE) == 70
            assert await count(limits, caller("two", "cards"), ONE) == 30
            assert await count(limits, caller("alone"), ONE, at_most=5) == 5

    run(work())


def test_the_site_s_default_holds_for_each_who_has_none(place: Place) -> None:
    async def work() -> None:
        default = {"requests_per_minute": 3}
        async with quota(await place.store(), Clock(), default_limits=default) as limits:
            assert await count(limits, caller("one"), ONE) == 3
            assert await count(limits, caller("two"), ONE) == 3
            assert await count(limits, caller("three", requests_per_minute=5), ONE) == 5

    run(work())


def test_what_can_never_fit_is_told_so(place: Place) -> None:
    async def work() -> None:
        async with quota(await place.store(), Clock()) as limits:
            with pytest.raises(LimitReached) as caught:
                await limits.reserve(caller(tokens_per_minute=100), Amounts(1, 101, 0))
            assert caught.value.retry_after_s is None
            headers = dict(refusal_headers(caught.value, NOON))
            assert headers[b"x-should-retry"] == b"false"
            assert b"retry-after" not in headers

    run(work())


def test_requests_at_once_are_limited_over_processes_and_free_when_they_end(place: Place) -> None:
    async def work() -> None:
        clock = Clock()
        here = quota(await place.store(), clock)
        there = quota(await place.store(), clock)
        who = caller(concurrent_requests=5)
        async with here, there:
            running = [await here.reserve(who, ONE) for _ in range(3)]
            running += [await there.reserve(who, ONE) for _ in range(2)]
            for process in (here, there):
                with pytest.raises(LimitReached, match="concurrent_requests"):
                    await process.reserve(who, ONE)
            running.pop(0).release()
            await here.flush()
            running.append(await there.reserve(who, ONE))
            with pytest.raises(LimitReached):
                await here.reserve(who, ONE)
            for each in running:
                each.release()

    run(work())


def test_a_process_that_died_holds_no_request_for_long(place: Place) -> None:
    async def work() -> None:
        clock = Clock()
        who = caller(concurrent_requests=1)
        store = await place.store()
        await quota(store, clock).reserve(who, ONE)  # and it is never heard of again
        await store.close()
        async with quota(await place.store(), clock) as alive:
            with pytest.raises(LimitReached):
                await alive.reserve(who, ONE)
            clock.now += 16
            (await alive.reserve(who, ONE)).release()

    run(work())


def test_a_clock_that_went_back_hides_no_running_request(place: Place) -> None:
    async def work() -> None:
        clock = Clock()
        who = caller(concurrent_requests=1)
        async with quota(await place.store(), clock) as mine, quota(await place.store(), clock) as other:
            await mine.flush()
            clock.now -= 3600
            running = await mine.reserve(who, ONE)
            for _ in range(4):
                clock.now += 5
                await mine.flush()
            with pytest.raises(LimitReached):
                await other.reserve(who, ONE)
            running.release()

    run(work())


def test_a_process_that_ends_while_it_gives_back_gives_back_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        clock, giving = Clock(), asyncio.Event()
        who = caller(tokens_per_day=1600)
        store = await place.store()
        lease = store.lease

        async def told(wants: Any, owed: Any) -> Any:
            leases = await lease(wants, owed)
            if owed and not giving.is_set():
                giving.set()
                await asyncio.sleep(0.1)  # the store has committed, and its word is on the way
            return leases

        monkeypatch.setattr(store, "lease", told)
        async with quota(await place.store(), clock) as other:
            (await other.reserve(who, Amounts(1, 800, 0))).commit(None, None)
        async with quota(store, clock) as ending:
            (await ending.reserve(who, Amounts(1, 1, 0))).commit(None, None)
            await giving.wait()
        async with quota(await place.store(), clock) as after:
            assert await used(after) == {("client:branch", "tokens_per_day"): 801}

    monkeypatch.setattr("sovctl.gateway.quota.quota._FLUSH_EVERY_S", 0.01)
    run(work())


def test_a_lease_of_a_process_that_died_is_gone_and_one_that_stopped_gave_it_back(place: Place) -> None:
    async def work() -> None:
        clock = Clock()
        who = caller(tokens_per_day=1600)
        async with quota(await place.store(), clock) as stopped:
            (await stopped.reserve(who, Amounts(1, 100, 0))).commit(None, None)
        store = await place.store()
        (await quota(store, clock).reserve(who, Amounts(1, 10, 0))).commit(None, None)
        await store.close()
        async with quota(await place.store(), clock) as alive:
            lost = 1500 // 16
            assert await count(alive, who, Amounts(1, 1, 0), at_most=5000) == 1500 - lost

    run(work())


def test_leases_that_nobody_uses_go_back_in_time_for_others(place: Place) -> None:
    async def work() -> None:
        clock = Clock()
        who = caller(tokens_per_day=1600)
        idle, busy = [quota(await place.store(), clock) for _ in range(2)]
        async with idle, busy:
            (await idle.reserve(who, Amounts(1, 1, 0))).commit(None, None)
            for _ in range(2):
                await idle.flush()
            assert await count(busy, who, Amounts(1, 1, 0), at_most=2000) == 1599

    run(work())


def test_without_the_store_nobody_with_limits_is_served_and_afterwards_again(tmp_path: Path) -> None:
    async def work() -> None:
        path = tmp_path / "q.db"
        async with quota(SqliteStore.open(path, busy_s=0), Clock()) as limits:
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(QuotaUnavailable):
                await limits.reserve(caller(requests_per_minute=5), ONE)
            other.close()
            assert await count(limits, caller(requests_per_minute=5), ONE) == 5

    run(work())


class HangingStore(SqliteStore):
    """A real store whose disk hangs until it is let go."""

    begun: asyncio.Event
    goes_on: asyncio.Event
    leases = 0

    async def lease(self, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
        self.begun.set()
        self.leases += 1
        await self.goes_on.wait()
        return await super().lease(wants, owed)


def test_a_store_that_hangs_refuses_whoever_waits_and_what_it_grants_at_last_is_not_lost(tmp_path: Path) -> None:
    async def work() -> None:
        store, who = HangingStore.open(tmp_path / "q.db"), caller(requests_per_minute=5)
        store.begun, store.goes_on = asyncio.Event(), asyncio.Event()
        async with quota(store, Clock(), disk_timeout_s=0.05) as limits:
            waiting = [asyncio.create_task(limits.reserve(who, ONE))]
            await store.begun.wait()
            waiting.append(asyncio.create_task(limits.reserve(who, ONE)))  # behind the lease that hangs
            for each in waiting:
                with pytest.raises(QuotaUnavailable, match="has not answered"):
                    await each
            with pytest.raises(QuotaUnavailable, match="has not answered"):
                await limits.reserve(who, ONE)  # at once
            assert store.leases == 1  # a lease that may yet be granted is not asked for again
            store.goes_on.set()
            assert await _count_once_it_answers(limits, who) == 5  # the lease that hung is of use

    run(work())


async def _count_once_it_answers(limits: Quota, who: Principal) -> int:
    """How many such requests are let through by a store that hung."""
    through = 0
    async with asyncio.timeout(60):
        while True:
            try:
                (await limits.reserve(who, ONE)).commit(None, None)
            except LimitReached:
                return through
            except QuotaUnavailable:
                await asyncio.sleep(0.01)
            else:
                through += 1


def test_a_full_disk_grants_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        async with quota(SqliteStore.open(tmp_path / "q.db"), Clock()) as limits:
            await limits.reserve(caller("before", requests_per_minute=5), ONE)
            size = (tmp_path / "q.db-wal").stat().st_size
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            try:
                with pytest.raises(QuotaUnavailable):
                    await limits.reserve(caller(requests_per_minute=5), ONE)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert await count(limits, caller(requests_per_minute=5), ONE) == 5

    run(work())


@pytest.mark.parametrize("content", [b"no database at all, only text that is long enough", None])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "q.db"
    if content is None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE something (x)")
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(InputError, match="cannot open a store of quotas"):
        SqliteStore.open(path)
    assert path.read_bytes()[100:] == before[100:]


def test_many_who_wait_share_a_transaction_and_none_is_let_through_too_many(place: Place) -> None:
    async def work() -> None:
        store = await place.store()
        rounds = 0
        lease = store.lease

        async def counted(*arguments: Any) -> Any:
            nonlocal rounds
            rounds += 1
            return await lease(*arguments)

        store.lease = counted  # type: ignore[method-assign]
        async with quota(store, Clock()) as limits:
            who = caller(requests_per_minute=40, concurrent_requests=64)
            results = await asyncio.gather(*(limits.reserve(who, ONE) for _ in range(64)), return_exceptions=True)
            assert sum(isinstance(each, Reservation) for each in results) == 40
            assert sum(isinstance(each, LimitReached) for each in results) == 24
            assert rounds <= 2
            for each in results:
                if isinstance(each, Reservation):
                    each.release()

    run(work())


def test_a_client_that_gives_up_while_it_waits_takes_nothing_with_it(place: Place) -> None:
    async def work() -> None:
        async with quota(await place.store(), Clock()) as limits:
            who = caller(concurrent_requests=2, tokens_per_day=1000)
            for _ in range(20):
                task = asyncio.create_task(limits.reserve(who, ONE))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            both = [await limits.reserve(who, ONE) for _ in range(2)]
            for each in both:
                each.release()

    run(work())


def test_headers_tell_the_tighter_limit_as_openai_does(place: Place) -> None:
    async def work() -> None:
        teams = {"cards": {"requests_per_minute": 10}}
        async with quota(await place.store(), Clock(), teams=teams) as limits:
            who = caller("one", "cards", requests_per_minute=20, tokens_per_minute=1000)
            reservation = await limits.reserve(who, ONE)
            assert dict(limit_headers(reservation.accounts, NOON)) == {
                b"x-ratelimit-limit-requests": b"10",
                b"x-ratelimit-remaining-requests": b"9",
                b"x-ratelimit-reset-requests": b"1m5s",
                b"x-ratelimit-limit-tokens": b"1000",
                b"x-ratelimit-remaining-tokens": b"900",
                b"x-ratelimit-reset-tokens": b"1m5s",
            }

    run(work())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 2), st.integers(1, 300)),
        st.tuples(st.just("settle"), st.integers(0, 20), st.integers(0, 300)),
        st.tuples(st.just("wait"), st.floats(0, 20), st.just(0)),
        st.tuples(st.just("flush"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("die"), st.integers(0, 2), st.just(0)),
    ),
    max_size=40,
)


@examples(40)
@given(STEPS)
def test_whatever_processes_do_no_minute_no_day_and_no_moment_sees_more_than_the_limit(
    make_place: Callable[[], Place], steps: list[tuple[str, Any, int]]
) -> None:
    place = make_place()
    clock = Clock(NOON + 12 * 3600 - 100)  # midnight is near
    who = caller(requests_per_minute=6, tokens_per_minute=500, tokens_per_day=900, concurrent_requests=4)

    async def work() -> None:
        stores = [await place.store() for _ in range(3)]
        processes = [quota(store, clock) for store in stores]
        running: list[tuple[int, int, Reservation]] = []  # process, row in `spent`
        spent: list[list[float]] = []  # time, tokens: what was reserved, then what was used
        for step, number, amount in steps:
            if step == "reserve":
                try:
                    reservation = await processes[number].reserve(who, Amounts(1, amount, 0))
                except LimitReached:
                    continue
                spent.append([clock.now, amount])
                running.append((number, len(spent) - 1, reservation))
            elif step == "settle" and running:
                _, row, reservation = running.pop(number % len(running))
                spent[row][1] = min(spent[row][1], amount)
                reservation.commit(Usage(int(spent[row][1]), 0), None)
            elif step == "wait":
                clock.now += number
                for process in processes:
                    await process.flush()
            elif step == "flush":
                await processes[number].flush()
            elif step == "die":
                await stores[number].close()
                stores[number] = await place.store()
                processes[number] = quota(stores[number], clock)
                running = [each for each in running if each[0] != number]
            for start, _ in spent:
                minute = [tokens for at, tokens in spent if start <= at < start + 60]
                assert len(minute) <= 6
                assert sum(minute) <= 500
            for day in {int(at // 86_400) for at, _ in spent}:
                assert sum(tokens for at, tokens in spent if int(at // 86_400) == day) <= 900
            assert len(running) <= 4
        for store in stores:
            await store.close()

    run(work())
