"""Hedging: sends a request to a second server if the first is unusually slow, and uses the first answer.

Only for requests without side effects and without streaming: embeddings, rankings, scores. The delay is the recent 95th
percentile of their latency, so about 5 % are sent twice (Dean and Barroso, "The Tail at Scale", CACM 2013). Each
hedge counts against the retry budget, so a slow upstream does not get twice the load. Enabled by `routing.hedge`. The
slower request is cancelled, and `Attempts.hedges` counts it as used.

    hedge = Hedge()
    hedge.took(0.02)
    hedge.refresh()
    answer = await first_of_two(ask, 0, lambda: 1, after_s=hedge.after_s, attempts=attempts)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..domain.errors import UpstreamFailed, UpstreamRejected
from ..settings import SurfaceName
from .answer import Answer, Attempts

HEDGED = frozenset({SurfaceName.EMBEDDINGS, SurfaceName.RERANK, SurfaceName.SCORE})
"""APIs whose requests have no side effects and are not streamed."""
_SAMPLES = 256
_MIN_SAMPLES = 20  # with fewer samples the percentile is the maximum
_PERCENTILE = 0.95
_OVERTAKEN = "overtaken"


class Hedge:
    """Recent latencies of hedged requests at one upstream."""

    def __init__(self) -> None:
        self.after_s: float | None = None
        """Delay before the second request; None if there are too few samples."""
        self._took_s: deque[float] = deque(maxlen=_SAMPLES)

    def took(self, seconds: float) -> None:
        """Record a latency; of a cancelled request, a lower bound."""
        self._took_s.append(seconds)

    def refresh(self) -> None:
        """Compute the delay again."""
        self.after_s = delay_s(self._took_s)


def delay_s(took_s: Sequence[float]) -> float | None:
    """Return the 95th percentile; None if there are too few samples."""
    if len(took_s) < _MIN_SAMPLES:
        return None
    return sorted(took_s)[int(_PERCENTILE * (len(took_s) - 1))]


async def first_of_two(
    ask: Callable[[int], Coroutine[Any, Any, Answer]],
    number: int,
    second: Callable[[], int | None],
    *,
    after_s: float,
    attempts: Attempts,
) -> Answer:
    """Return the answer of one server, or of a second one.

    Args:
        ask: sends the request to the server with that number.
        second: number of the second server; None if none is available.

    Raises:
        UpstreamFailed: no server gave an answer.
        UpstreamRejected: the request is invalid.
    """
    begun = attempts.count
    tasks = [asyncio.create_task(ask(number))]
    winner: asyncio.Task[Answer] | None = None
    try:
        await asyncio.wait(tasks, timeout=after_s)
        if not tasks[0].done() and (other := second()) is not None:
            attempts.hedges += 1
            tasks.append(asyncio.create_task(ask(other)))
        winner = await _winner(tasks)
        return winner.result()
    finally:
        losers = [task for task in tasks if task is not winner]
        for task in losers:
            task.cancel()
        try:
            for came in await asyncio.gather(*losers, return_exceptions=True):
                if isinstance(came, Answer):
                    came.release()
        except asyncio.CancelledError:  # the client disconnected
            if winner is not None:
                winner.result().release()
            raise
        for place, task in enumerate(tasks, begun):
            if winner not in (None, task) and (task.cancelled() or task.exception() is None):
                attempts.end(place, _OVERTAKEN)


async def _winner(tasks: Sequence[asyncio.Task[Answer]]) -> asyncio.Task[Answer]:
    """Return the first task with an answer.

    Raises:
        UpstreamFailed: every task failed.
        UpstreamRejected: the request is invalid, so the other tasks are not awaited.
    """
    pending = set(tasks)
    while True:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            failure = task.exception()
            if failure is None:
                return task
            if not pending or isinstance(failure, UpstreamRejected) or not isinstance(failure, UpstreamFailed):
                raise failure
