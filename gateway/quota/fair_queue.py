"""Turns of requests when more arrive than a worker sends at a time: each tenant gets its share of the turns.

queue = FairQueue(lambda waited_s, outcome: ...)
await queue.take("retail", limits, timeout_s=30)      # False: no turn within the time
queue.give_back("retail", limits)

- A free turn goes to the tenant with the fewest running requests for its weight, of those that wait. Of equal tenants,
  the tenant that had a turn least recently is first.
- Requests of one tenant have their turns in the order of arrival.
- Without waiting requests, a tenant may have all turns.
- Each wait is reported with its outcome, `turn`, `timeout` or `left`, and without its tenant.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Outcome = Literal["turn", "timeout", "left"]
"""End of a wait: the turn came, the time was over, or the client disconnected."""


class Turns(Protocol):
    """Limits of the queue; read again at each change of settings."""

    @property
    def max_concurrent_requests(self) -> int | None:
        """Requests that are served at a time; None: no limit, and no queue."""

    @property
    def tenant_weights(self) -> Mapping[str, int]:
        """Shares of tenants; 1 for the others."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A request that waits.

    Args:
        since_s: time of the event loop.
    """

    turn: asyncio.Future[None]
    since_s: float


class FairQueue:
    """Running and waiting requests of a worker, by tenant.

    Args:
        report: called with the seconds of each wait and its outcome. Requests that have their turn immediately are not
            reported.
    """

    __slots__ = ("_last_turn", "_report", "_running", "_total", "_turn", "_waiting")

    def __init__(self, report: Callable[[float, Outcome], object] = lambda _waited_s, _outcome: None) -> None:
        self._report = report
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._last_turn: dict[str, int] = {}
        self._total = self._turn = 0

    async def take(self, tenant: str, limits: Turns, *, timeout_s: float) -> bool:
        """Wait for a turn; return whether the tenant has it. The caller gives it back."""
        most = limits.max_concurrent_requests
        if most is None or (self._total < most and not self._waiting):
            self._begin(tenant)
            return True
        loop = asyncio.get_running_loop()
        request = _Waiting(loop.create_future(), loop.time())
        self._waiting.setdefault(tenant, deque()).append(request)
        self._next(limits)
        outcome: Outcome = "turn"
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(request.turn)  # `_next` may have set it when the task is cancelled
        except TimeoutError:
            if not request.turn.done():  # else the turn came at the same time
                outcome = "timeout"
                self._forget(tenant, request)
        except asyncio.CancelledError:
            outcome = "left"
            if request.turn.done():
                self.give_back(tenant, limits)
            else:
                self._forget(tenant, request)
            raise
        finally:
            self._report(loop.time() - request.since_s, outcome)
        return outcome == "turn"

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
        return {tenant: len(requests) for tenant, requests in self._waiting.items()}

    def waited_s(self, now_s: float) -> dict[str, float]:
        """Return the seconds that the oldest waiting request of each tenant has waited.

        Args:
            now_s: time of the event loop.
        """
        return {tenant: now_s - requests[0].since_s for tenant, requests in self._waiting.items()}

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
            request = self._waiting[tenant].popleft()
            if not self._waiting[tenant]:
                del self._waiting[tenant]
            self._begin(tenant)
            request.turn.set_result(None)

    def _forget(self, tenant: str, request: _Waiting) -> None:
        self._waiting[tenant].remove(request)
        if not self._waiting[tenant]:
            del self._waiting[tenant]
