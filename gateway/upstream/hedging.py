"""Asks a second server when the first takes unusually long, and takes whichever answer comes first.

Only for requests that can be answered twice without harm and are not streamed: embeddings, rankings, scores. The delay
is the 95th percentile of what such requests took lately, so some one in twenty is asked twice (Dean and Barroso, "The
Tail at Scale", CACM 2013); each takes from the retry budget, so an upstream that is slow as a whole gets no second
load. Off unless `routing.hedge` says otherwise. The loser is cancelled, and `Attempts.hedges` counts it as used.

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
"""APIs whose requests change nothing and are not streamed."""
_SAMPLES = 256
_FEWEST_SAMPLES = 20  # below that the percentile is the slowest one
_PERCENTILE = 0.95
_OVERTAKEN = "overtaken"


class Hedge:
    """What hedged requests of one upstream took lately."""

    def __init__(self) -> None:
        self.after_s: float | None = None
        """How long to wait before a second server is asked; None while nobody can say."""
        self._took_s: deque[float] = deque(maxlen=_SAMPLES)

    def took(self, seconds: float) -> None:
        """An answer took so long, or longer where it was overtaken."""
        self._took_s.append(seconds)

    def refresh(self) -> None:
        """Work the delay out anew."""
        self.after_s = delay_s(self._took_s)


def delay_s(took_s: Sequence[float]) -> float | None:
    """The 95th percentile; None of too few."""
    if len(took_s) < _FEWEST_SAMPLES:
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
    """One server's answer, or that of another one.

    Args:
        ask: asks the server of a number.
        second: the number of the other one; None when there is none to be asked.

    Raises:
        UpstreamFailed: nobody who was asked gave an answer.
        UpstreamRejected: the request is wrong.
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
        except asyncio.CancelledError:  # the client left meanwhile
            if winner is not None:
                winner.result().release()
            raise
        for place, task in enumerate(tasks, begun):
            if winner not in (None, task) and (task.cancelled() or task.exception() is None):
                attempts.end(place, _OVERTAKEN)


async def _winner(tasks: Sequence[asyncio.Task[Answer]]) -> asyncio.Task[Answer]:
    """The first of the tasks that has an answer.

    Raises:
        UpstreamFailed: none has.
        UpstreamRejected: the request is wrong, so the others need not be waited for.
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
