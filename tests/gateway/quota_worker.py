"""A process that asks for as much as it gets: `python quota_worker.py STORE BEGIN SPEED SECONDS AT_LEAST`.

Its clock is the same in all processes: noon at the wall clock's `BEGIN`, and `SPEED` times as fast. A line for each
request that was let through says when that was. It ends after `SECONDS` and `AT_LEAST` such requests, at the latest a
minute later, or when it is killed.
"""

from __future__ import annotations

import asyncio
import sys
import time

from quota_givens import NOON, caller, opened, quota

from sovctl.gateway.quota.need import Amounts, Usage
from sovctl.gateway.quota.reservation import LimitReached

LIMITS = {"requests_per_minute": 120, "tokens_per_minute": 9000, "tokens_per_day": 40_000, "concurrent_requests": 8}


async def main(place: str, begin: float, speed: float, seconds: float, at_least: float) -> None:
    """Hammer."""

    def clock() -> float:
        return NOON + (time.time() - begin) * speed

    who = caller(**LIMITS)
    until = time.monotonic() + seconds
    let_through = 0

    def goes_on() -> bool:
        return (late := time.monotonic() - until) < 0 or (let_through < at_least and late < 60)

    async with quota(await opened(place), clock) as limits:  # type: ignore[arg-type]

        async def hammer() -> None:
            nonlocal let_through
            while goes_on():
                before = clock()
                try:
                    reservation = await limits.reserve(who, Amounts(1, 200, 0))
                except LimitReached:
                    await asyncio.sleep(0.001)
                    continue
                sys.stdout.write(f"{before} {clock()} 100\n")
                sys.stdout.flush()
                let_through += 1
                await asyncio.sleep(0)
                reservation.commit(Usage(60, 40), None)

        await asyncio.gather(*(hammer() for _ in range(16)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(float, sys.argv[2:])))
