"""Turns of tenants: shares by weight, order within a tenant, and no turn lost by a timeout or a disconnect."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from sovctl.gateway.quota.fair_queue import FairQueue


@dataclass
class Limits:
    """Settings of the queue."""

    max_concurrent_requests: int | None = 4
    tenant_weights: dict[str, int] = field(default_factory=dict)


async def flood(limits: Limits, arrivals: dict[str, int], *, turns: int) -> list[str]:
    """Tenants of the first turns, if each tenant sends all its requests at once and a turn lasts one round."""
    queue, served = FairQueue(), list[str]()

    async def request(tenant: str) -> None:
        assert await queue.take(tenant, limits, timeout_s=30)
        served.append(tenant)
        for _ in range(3):
            await asyncio.sleep(0)
        queue.give_back(tenant, limits)

    await asyncio.gather(*(request(tenant) for tenant, count in arrivals.items() for _ in range(count)))
    assert queue.waiting == {}
    assert not queue._running
    return served[:turns]


def test_a_tenant_that_comes_later_does_not_wait_for_the_queue_of_another() -> None:
    served = asyncio.run(flood(Limits(), {"a": 100, "b": 10}, turns=24))
    assert served[:4] == ["a"] * 4  # turns that began before
    assert Counter(served[4:])["b"] == 10


def test_weights_are_shares_while_both_wait() -> None:
    served = asyncio.run(flood(Limits(tenant_weights={"a": 3}), {"a": 200, "b": 200}, turns=104))
    counts = Counter(served[4:])
    assert 70 <= counts["a"] <= 80


def test_a_lone_tenant_has_all_turns_and_no_limit_means_no_queue() -> None:
    assert asyncio.run(flood(Limits(), {"a": 20}, turns=20)) == ["a"] * 20

    async def unlimited() -> None:
        queue, limits = FairQueue(), Limits(None)
        for _ in range(100):
            assert await queue.take("a", limits, timeout_s=0.001)

    asyncio.run(unlimited())


def test_a_timeout_or_a_disconnect_loses_no_turn() -> None:
    async def run() -> None:
        queue, limits = FairQueue(), Limits(1)
        assert await queue.take("a", limits, timeout_s=1)
        assert not await queue.take("b", limits, timeout_s=0.01)
        leaver = asyncio.ensure_future(queue.take("b", limits, timeout_s=30))
        await asyncio.sleep(0)
        leaver.cancel()
        await asyncio.gather(leaver, return_exceptions=True)
        assert queue.waiting == {}
        late = asyncio.ensure_future(queue.take("b", limits, timeout_s=30))
        await asyncio.sleep(0)
        queue.give_back("a", limits)  # the turn and the disconnect come together
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        assert await queue.take("c", limits, timeout_s=1)

    asyncio.run(run())


def test_a_higher_limit_of_new_settings_begins_waiting_requests() -> None:
    async def run() -> None:
        queue = FairQueue()
        assert await queue.take("a", Limits(1), timeout_s=1)
        waiting = asyncio.ensure_future(queue.take("b", Limits(1), timeout_s=30))
        await asyncio.sleep(0)
        assert await queue.take("c", Limits(4), timeout_s=1)
        assert await waiting

    asyncio.run(run())


def test_every_wait_is_reported_once_with_its_outcome() -> None:
    reported = list[tuple[float, str]]()

    async def run() -> dict[str, float]:
        queue, limits = FairQueue(lambda waited_s, outcome: reported.append((waited_s, outcome))), Limits(1)
        loop = asyncio.get_running_loop()
        assert await queue.take("a", limits, timeout_s=1)
        assert reported == []  # the turn came immediately
        assert not await queue.take("b", limits, timeout_s=0.01)
        leaver = asyncio.ensure_future(queue.take("b", limits, timeout_s=30))
        served = asyncio.ensure_future(queue.take("b", limits, timeout_s=30))
        await asyncio.sleep(0)
        since_s = queue.waited_s(loop.time() + 7)["b"]
        assert 7 <= since_s < 30
        leaver.cancel()
        await asyncio.gather(leaver, return_exceptions=True)
        queue.give_back("a", limits)
        assert await served
        return queue.waited_s(loop.time())

    assert asyncio.run(run()) == {}
    assert [outcome for _, outcome in reported] == ["timeout", "left", "turn"]
    assert reported[0][0] >= 0.009
