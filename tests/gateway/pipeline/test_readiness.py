"""Is the gateway ready? Whoever asks, and however many do, its parts are asked once."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from sovctl.gateway.pipeline.readiness import Readiness
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.settings.traffic.quota import QuotaSettings


class Part:
    """A vault or a ledger that answers when it is let."""

    def __init__(self) -> None:
        self.asked, self.gate = 0, asyncio.Event()

    async def check(self) -> None:
        self.asked += 1
        await self.gate.wait()


def test_many_who_ask_at_once_cost_one_look_and_none_ends_it_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sovctl.gateway.pipeline.readiness._VALID_S", 60.0)

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


class Failing:
    """A part that fails in a way nobody foresaw."""

    async def check(self) -> None:
        raise KeyError


def test_a_look_that_fails_though_nobody_waits_is_told_in_the_log_and_never_by_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    strays: list[dict[str, Any]] = []

    async def work() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: strays.append(context))
        vault: Any = Failing()
        ledger: Any = Part()
        readiness = Readiness([], vault, ledger, Quota(QuotaSettings(), [], None), {})
        asking = asyncio.create_task(readiness.wrong())
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        ledger.gate.set()
        assert await readiness.wrong() == {"vault": "not known"}

    asyncio.run(work())
    gc.collect()
    assert not strays
    assert caplog.messages == ["internal error"]


def test_a_part_that_hangs_is_silent_is_asked_once_and_counts_again_when_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sovctl.gateway.pipeline.readiness._CHECK_TIMEOUT_S", 0.01)
    monkeypatch.setattr("sovctl.gateway.pipeline.readiness._VALID_S", 0.0)

    async def work() -> None:
        vault: Any = Part()
        ledger: Any = Part()
        ledger.gate.set()
        readiness = Readiness([], vault, ledger, Quota(QuotaSettings(), [], None), {})
        assert [await readiness.wrong() for _ in range(3)] == [{"vault": "doesn't answer"}] * 3
        assert (vault.asked, ledger.asked) == (1, 3)
        vault.gate.set()
        await asyncio.sleep(0)
        assert await readiness.wrong() == {}

    asyncio.run(work())
