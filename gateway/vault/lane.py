"""A lane collects what arrives while the last batch is under way, and hands it on together: one commit for many.

lane = Lane(write_all, name="vault writes")     # write_all(batch) settles every future in the batch
await lane.put(job)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from sovctl.gateway.vault.errors import VaultFailed

MOST_IN_A_BATCH = 256  # about 10 ms of work (measured, SQLite, 2026-11); what came later waits for the next


class _Job(Protocol):
    future: asyncio.Future[Any]
    """Given to it by `put`."""


_AnyJob = TypeVar("_AnyJob", bound=_Job)


class Lane(Generic[_AnyJob]):
    """One batch at a time.

    Args:
        handle: does a batch; whatever it raises, every job of the batch hears that it failed.
    """

    def __init__(self, handle: Callable[[list[_AnyJob]], Awaitable[None]], *, name: str) -> None:
        self._handle = handle
        self._name = name
        self._waiting: list[_AnyJob] = []
        self._loop: asyncio.AbstractEventLoop
        self._worker: asyncio.Task[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._is_closing = False

    def put(self, job: _AnyJob) -> asyncio.Future[Any]:
        """Add a job; its future.

        Raises:
            VaultFailed: the lane is closed.
        """
        if self._is_closing:
            raise VaultFailed("expected an open vault, got a closed one")
        if self._worker is None:
            self._loop = asyncio.get_running_loop()
            self._worker = self._loop.create_task(self._work(), name=self._name)
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        job.future = self._loop.create_future()
        self._waiting.append(job)
        return job.future

    async def close(self) -> None:
        """Finish what waits."""
        self._is_closing = True
        if self._worker is not None:
            if self._idle is not None and not self._idle.done():
                self._idle.set_result(None)
            await self._worker

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                if self._is_closing:
                    return
                self._idle = self._loop.create_future()
                await self._idle
                self._idle = None
                continue
            batch = self._waiting[:MOST_IN_A_BATCH]
            del self._waiting[:MOST_IN_A_BATCH]
            error: Exception | None = None
            try:
                await self._handle(batch)
            except Exception as caught:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
                error = caught
            for job in batch:
                if not job.future.done():
                    job.future.set_exception(error or RuntimeError("a job was left unsettled"))
