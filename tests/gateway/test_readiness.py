"""Is the gateway ready? Whoever asks, and however many do, its parts are asked once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.readiness import Readiness
from sovctl.gateway.settings.quota import QuotaSettings


class Part:
    """A vault or a ledger that answers when it is let."""

    def __init__(self) -> None:
        self.asked, self.gate = 0, asyncio.Event()

    async def check(self) -> None:
        self.asked += 1
        await self.gate.wait()


def test_many_who_ask_at_once_cost_one_look_and_none_ends_it_for_the_others() -> None:
    async def work() -> None:
        vault: Any = Part()
        ledger: Any = Part()
        readiness = Readiness([], vault, ledger, Quota(QuotaSettings(), [], None), {})
        asking = [asyncio.create_task(readiness.wrong()) for _ in range(20)]
        await asyncio.sleep(0)
        asking[0].cancel()
        vault.gate.set()
        ledger.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await asking[0]
        assert await asyncio.gather(*asking[1:]) == [{}] * 19
        assert await readiness.wrong() == {}
        assert (vault.asked, ledger.asked) == (1, 1)

    asyncio.run(work())
