"""Turns of requests when more arrive than a worker sends at a time: each tenant gets its share of the turns.

queue = FairQueue()
await queue.take("retail", limits, timeout_s=30)      # False: no turn within the time
queue.give_back("retail", limits)

- A free turn goes to the tenant with the fewest running requests for its weight, of those that wait. Of equal tenants,
  the tenant that had a turn least recently is first.
- Requests of one tenant have their turns in the order of arrival.
- Without waiting requests, a tenant may have all turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Protocol


class Turns(Protocol):
    """Limits of the queue; read again at each change of settings."""

    @property
    def max_concurrent_requests(self) -> int | None:
        """Requests that are served at a time; None: no limit, and no queue."""

    @property
    def tenant_weights(self) -> Mapping[str, int]:
        """Shares of tenants; 1 for the others."""


class FairQueue:
    """Running and waiting requests of a worker, by tenant."""

    __slots__ = ("_last_turn", "_running", "_total", "_turn", "_waiting")

    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._last_turn: dict[str, int] = {}
        self._total = self._turn = 0

    async def take(self, tenant: str, limits: Turns, *, timeout_s: float) -> bool:
        """Wait for a turn; return whether the tenant has it. The caller gives it back."""
        most = limits.max_concurrent_requests
        if most is None or (self._total < most and not self._waiting):
            self._begin(tenant)
            return True
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        self._next(limits)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(turn)  # `_next` may have set it when the task is cancelled
        except TimeoutError:
            if turn.done():  # the turn came at the same time
                return True
            self._forget(tenant, turn)
            return False
        except asyncio.CancelledError:
            if turn.done():
                self.give_back(tenant, limits)
            else:
                self._forget(tenant, turn)
            raise
        return True

    def give_back(self, tenant: str, limits: Turns) -> None:
        """End a request that had a turn, and begin waiting ones."""
        self._total -= 1
        left = self._running[tenant] - 1
        if left:
            self._running[tenant] = left
        else:
            del self._running[tenant]
        self._next(limits)

    @property
    def waiting(self) -> dict[str, int]:
        """Number of waiting requests by tenant."""
        return {tenant: len(turns) for tenant, turns in self._waiting.items()}

    def _begin(self, tenant: str) -> None:
        self._total += 1
        self._turn += 1
        self._running[tenant] = self._running.get(tenant, 0) + 1
        self._last_turn[tenant] = self._turn

    def _next(self, limits: Turns) -> None:
        most, weights = limits.max_concurrent_requests, limits.tenant_weights
        while self._waiting and (most is None or self._total < most):
            tenant = min(
                self._waiting,
                key=lambda each: (self._running.get(each, 0) / weights.get(each, 1), self._last_turn.get(each, 0)),
            )
            turn = self._waiting[tenant].popleft()
            if not self._waiting[tenant]:
                del self._waiting[tenant]
            self._begin(tenant)
            turn.set_result(None)

    def _forget(self, tenant: str, turn: asyncio.Future[None]) -> None:
        self._waiting[tenant].remove(turn)
        if not self._waiting[tenant]:
            del self._waiting[tenant]
