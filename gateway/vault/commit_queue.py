"""Group commit: collects the jobs that arrive while a batch is written, and writes them together in the next one.

queue = CommitQueue(write_all, name="vault writes", stall_timeout=timeout)  # write_all sets a result on each future
await queue.put(job)

If a batch exceeds the timeout of `stall_timeout`, its jobs fail, and new jobs fail immediately until the batch ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from sovctl.support.stall_timeout import HUNG, StallTimeout

from .encryption.errors import VaultFailed

MAX_BATCH_SIZE = 256  # about 10 ms of work (measured, SQLite, 2026-11); later jobs wait for the next batch


class _Job(Protocol):
    future: asyncio.Future[Any]
    """Set by `put`."""


_AnyJob = TypeVar("_AnyJob", bound=_Job)


class CommitQueue(Generic[_AnyJob]):
    """Runs one batch at a time.

    Args:
        handle: writes a batch; if it raises, every job of the batch fails.
        stall_timeout: timeout of a batch; not shared with another queue.
    """

    def __init__(
        self, handle: Callable[[list[_AnyJob]], Awaitable[None]], *, name: str, stall_timeout: StallTimeout
    ) -> None:
        self._handle = handle
        self._name = name
        self._stall_timeout = stall_timeout
        stall_timeout.on_hung = self._fail_all
        self._waiting: list[_AnyJob] = []
        self._under_way: list[_AnyJob] = []
        self._loop: asyncio.AbstractEventLoop
        self._worker: asyncio.Task[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._is_closing = False

    def put(self, job: _AnyJob) -> asyncio.Future[Any]:
        """Add a job and return its future.

        Raises:
            VaultFailed: the queue is closed, or the current batch exceeds its timeout.
        """
        if self._is_closing:
            raise VaultFailed("the vault is closed")
        if self._stall_timeout.is_hung:
            raise VaultFailed(HUNG)
        if self._worker is None:
            self._loop = asyncio.get_running_loop()
            self._worker = self._loop.create_task(self._work(), name=self._name)
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        job.future = self._loop.create_future()
        self._waiting.append(job)
        return job.future

    async def close(self) -> None:
        """Finish the pending jobs."""
        self._is_closing = True
        if self._worker is not None:
            if self._idle is not None and not self._idle.done():
                self._idle.set_result(None)
            await self._worker
        self._stall_timeout.stop()

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                if self._is_closing:
                    return
                self._idle = self._loop.create_future()
                await self._idle
                self._idle = None
                continue
            batch = self._under_way = self._waiting[:MAX_BATCH_SIZE]
            del self._waiting[:MAX_BATCH_SIZE]
            error: Exception | None = None
            self._stall_timeout.begin(self._loop)
            try:
                await self._handle(batch)
            except Exception as caught:  # noqa: BLE001 - the exception is set on every pending future
                error = caught
            self._stall_timeout.end()
            for job in batch:
                if not job.future.done():
                    job.future.set_exception(error or RuntimeError("a job has no result"))

    def _fail_all(self) -> None:
        for job in (*self._under_way, *self._waiting):
            if not job.future.done():
                job.future.set_exception(VaultFailed(HUNG))
        self._waiting.clear()  # not started, and their callers have received the error
