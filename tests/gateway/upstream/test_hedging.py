"""A second server for what takes unusually long: who wins, what becomes of the loser, and what is never asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from loop_clock import pass_time, stop_clock, turns_until
from raw_server import RawServer, Step, ok

from sovctl.gateway.domain.errors import UpstreamFailed, UpstreamRejected
from sovctl.gateway.settings import Limits, RoutingSettings, UpstreamKind, UpstreamSettings
from sovctl.gateway.upstream import Answer, Attempts, Upstream
from sovctl.gateway.upstream.hedging import delay_s, first_of_two

Script = Callable[[bytes], Sequence[Step]]


def always(*steps: Step) -> Script:
    return lambda _: steps


def never() -> Script:
    return always(asyncio.Event())


@asynccontextmanager
async def hedged(*scripts: Script, is_on: bool = True, took_s: float | None = 0.02) -> Any:
    """An upstream whose requests took so long lately, and its servers."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(RawServer(script)) for script in scripts]
        urls = [server.url for server in servers]
        made = UpstreamSettings(name="u", kind=UpstreamKind.CLOUD, base_urls=urls, model="m", answer_timeout_s=60)
        upstream = await stack.enter_async_context(Upstream(made, Limits(), RoutingSettings(hedge=is_on)))
        upstream._random.randrange = lambda _: 0  # the first server comes first
        for _ in range(30 if took_s is not None else 0):
            upstream._hedge.took(took_s)
        if is_on:
            upstream._hedge.refresh()
        yield upstream, servers
        assert all(server.in_flight == 0 for server in upstream.servers)


async def ask(upstream: Upstream, *, may_hedge: bool = True) -> tuple[str, list[str], int]:
    """The body or the cause, the attempts, and how many were asked beside another."""
    attempts = Attempts()
    try:
        answer = await upstream.post("embeddings", b"{}", is_stream=False, attempts=attempts, may_hedge=may_hedge)
        try:
            said = (await answer.read(at_most=1 << 20)).decode()
        finally:
            answer.release()
    except (UpstreamFailed, UpstreamRejected) as error:
        said = str(error)
    return said, attempts.words(), attempts.hedges


def test_hedged_request_answers_and_the_slower_one_is_cancelled() -> None:
    async def run() -> None:
        async with hedged(never(), always(ok(b"2"))) as (upstream, (slow, _)):
            assert await ask(upstream) == ("2", ["u/0:overtaken", "u/1:200"], 1)
            await asyncio.wait_for(slow.gone(), 60)

    asyncio.run(run())


def test_the_first_server_may_still_win() -> None:
    async def run() -> None:
        second_asked = asyncio.Event()

        def first(_: bytes) -> Sequence[Step]:
            return [second_asked, ok(b"1")]

        def second(_: bytes) -> Sequence[Step]:
            second_asked.set()
            return [asyncio.Event()]

        async with hedged(first, second) as (upstream, (_, other)):
            assert await ask(upstream) == ("1", ["u/0:200", "u/1:overtaken"], 1)
            await asyncio.wait_for(other.gone(), 60)

    asyncio.run(run())


def test_fast_answer_starts_no_hedged_request() -> None:
    async def run() -> None:
        async with hedged(always(ok(b"1")), always(ok(b"2")), took_s=60) as (upstream, (_, second)):
            for _ in range(5):
                assert await ask(upstream) == ("1", ["u/0:200"], 0)
            assert not second.requests

    asyncio.run(run())


def test_it_is_off_by_default_without_figures_and_for_what_may_not_be_asked_twice() -> None:
    async def run() -> None:
        for options, may_hedge in (({"is_on": False}, True), ({"took_s": None}, True), ({}, False)):
            async with hedged(never(), always(ok(b"2")), **options) as (upstream, (first, second)):
                asking = asyncio.create_task(ask(upstream, may_hedge=may_hedge))
                await first.asked()
                await asyncio.sleep(0.2)  # ten times as long as they took lately; nothing is to happen
                assert not second.requests
                asking.cancel()
                await asyncio.wait([asking])
        assert not RoutingSettings().hedge

    asyncio.run(run())


def test_next_server_is_tried_after_both_hedged_requests_fail() -> None:
    async def run() -> None:
        second_asked = asyncio.Event()

        def first(_: bytes) -> Sequence[Step]:
            return [second_asked, ok(b"no", status="500 x")]

        def second(_: bytes) -> Sequence[Step]:
            second_asked.set()
            return [ok(b"no", status="500 x")]

        async with hedged(first, second, always(ok(b"3"))) as (upstream, _):
            said, words, hedges = await ask(upstream)
            assert (said, sorted(words), hedges) == ("3", ["u/0:status-500", "u/1:status-500", "u/2:200"], 1)

    asyncio.run(run())


def test_a_request_that_is_wrong_is_wrong_at_once() -> None:
    async def run() -> None:
        async with hedged(never(), always(ok(b"no", status="400 x"))) as (upstream, _):
            said, words, _ = await ask(upstream)
            assert (said, words[1]) == ("rejected", "u/1:rejected")

    asyncio.run(run())


def test_an_upstream_that_is_slow_as_a_whole_gets_no_second_load() -> None:
    """Hedges take from the retry budget: a fifth of the requests, and ten a second."""

    async def run() -> None:
        gate = asyncio.Event()

        async with hedged(always(gate, ok(b"x")), always(gate, ok(b"x"))) as (upstream, servers):

            def asked() -> int:
                return sum(len(server.requests) for server in servers)

            stop_clock()
            asking = [asyncio.create_task(ask(upstream)) for _ in range(300)]
            await turns_until(lambda: asked() == 300, "every request")
            pass_time(0.1)  # five times as long as they took lately
            await turns_until(lambda: asked() >= 459, "the hedges")
            gate.set()
            told = await asyncio.gather(*asking)
            assert sum(hedges for _, _, hedges in told) == asked() - 300 == 159  # 100 are saved from before
            assert all(said == "x" for said, _, _ in told)

    asyncio.run(run())


def test_a_client_that_leaves_ends_both() -> None:
    async def run() -> None:
        async with hedged(never(), never()) as (upstream, (first, second)):
            asking = asyncio.create_task(ask(upstream))
            await second.asked()
            asking.cancel()
            await asyncio.wait([asking])
            await asyncio.wait_for(asyncio.gather(first.gone(), second.gone()), 60)

    asyncio.run(run())


def test_a_client_that_leaves_while_the_loser_is_let_go_holds_no_connection() -> None:
    async def run() -> None:
        released, overtaken = [], asyncio.Event()

        class Won(Answer):
            def __init__(self) -> None:
                pass

            def release(self) -> None:
                released.append(self)

        async def ask(number: int) -> Answer:
            if number == 1:
                return Won()
            try:
                return await asyncio.Future()
            finally:
                overtaken.set()
                await asyncio.sleep(0)

        asking = asyncio.create_task(first_of_two(ask, 0, lambda: 1, after_s=0, attempts=Attempts()))
        await overtaken.wait()
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        assert len(released) == 1

    asyncio.run(run())


@given(st.lists(st.floats(0, 100), max_size=300))
def test_at_most_one_in_twenty_took_longer_than_the_delay(took_s: list[float]) -> None:
    delay = delay_s(took_s)
    assert (delay is None) is (len(took_s) < 20)
    if delay is not None:
        assert sum(each > delay for each in took_s) <= 0.05 * len(took_s) + 1
