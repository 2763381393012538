"""Group commit for an asyncio server: concurrent appends share one fsync.

    async with GroupCommit(ledger) as group:
        index = await group.append({"type": "request", ...})  # durable when this returns

While one batch is written, later records form the next batch; no timer delays them. An error is raised for every
record of the batch, and the caller must then not release the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from sovctl.support.errors import SovctlError
from sovctl.support.processes.worker_thread import WorkerThread
from sovctl.support.stall_timeout import HUNG, StallTimeout

from .errors import LedgerUnwritable
from .record import encode_record
from .store import Ledger

Result = TypeVar("Result")

MAX_BATCH = 256  # records; one entry bundle of C2SP tlog-tiles
MAX_WAITING = 8192  # records; 512 MiB if all have the maximum size
CHECKPOINT_AFTER_S = 1.0  # seconds without an append


class GroupCommit:
    """Lets many coroutines append to one ledger.

    Args:
        ledger: open; stays open when the group is closed.
        max_batch: maximum number of records per fsync.
        max_waiting: maximum number of queued records; further ones are refused, which bounds memory on a slow disk.
        checkpoint_after_s: seconds after the last append until a checkpoint is written.
        stall_timeout: time limit of a batch or a checkpoint.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        max_batch: int = MAX_BATCH,
        max_waiting: int = MAX_WAITING,
        checkpoint_after_s: float = CHECKPOINT_AFTER_S,
        stall_timeout: StallTimeout | None = None,
    ) -> None:
        self._ledger = ledger
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._checkpoint_after_s = checkpoint_after_s
        self._waiting: deque[_Record] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_busy = False
        self._is_signed = True
        self._closing = False
        self._idle: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_append_s = 0.0
        self._in_flight: list[_Record] = []
        self._stall_timeout = stall_timeout or StallTimeout()
        self._stall_timeout.on_hung = self._fail_all
        self._thread = WorkerThread("ledger", closed=partial(LedgerUnwritable, "the ledger is closing"))

    async def append(self, record: Mapping[str, Any]) -> int:
        """Append one record, and return its index when it is durable.

        Raises:
            InputError: the record is too large, or has values that are not plain. Other records are unaffected.
            LedgerUnwritable: the record is not durable. Do not perform the action it records.
        """
        return await self.append_encoded(encode_record(record))

    def append_encoded(self, data: bytes) -> asyncio.Future[int]:
        """Append the output of `encode_record`; see `append`.

        Raises:
            LedgerUnwritable: as for `append`.
        """
        if self._closing or self._stall_timeout.is_hung or len(self._waiting) >= self._max_waiting:
            raise LedgerUnwritable(
                "the ledger is closing"
                if self._closing
                else HUNG
                if self._stall_timeout.is_hung
                else f"{self._max_waiting} records are already waiting for the disk",
                where=str(self._ledger.directory),
                hint="check the disk of the ledger; requests are refused until it is writable",
            )
        if (loop := self._loop) is None:
            loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        self._waiting.append((data, future))
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._next)  # appends in the same turn of the loop join the batch
        return future

    @property
    def queue_depth(self) -> int:
        """Number of records that are not durable yet: queued ones, and those of the batch that is written."""
        return len(self._waiting) + len(self._in_flight)

    async def check(self) -> None:
        """Write a checkpoint, to check that the ledger is writable.

        Raises:
            LedgerUnwritable: the ledger is not writable.
        """
        await self._thread.run(self._ledger.checkpoint)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run a function that uses the ledger in the writer thread, between two batches, and return its result."""
        return await self._thread.run(work)

    async def close(self) -> None:
        """Write the queued records and a checkpoint, and end the writer thread. Later appends are refused."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._is_busy:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        if not self._is_signed:
            with contextlib.suppress(SovctlError):  # the entries are durable; the next open signs them
                await self._thread.run(self._ledger.checkpoint)
        self._stall_timeout.stop()
        self._thread.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _next(self) -> None:
        """Submit the next batch to the writer thread."""
        loop = self._loop
        assert loop is not None
        waiting = self._waiting
        if waiting:
            batch = self._in_flight = [waiting.popleft() for _ in range(min(len(waiting), self._max_batch))]
            self._stall_timeout.begin(loop)
            written = partial(self._written, batch)
            self._thread.submit(loop, written, self._ledger.append_encoded, [data for data, _ in batch])
            return
        self._is_busy = False
        if self._idle is not None:
            self._idle.set_result(None)
        elif self._timer is None and not self._is_signed:
            self._timer = loop.call_later(self._checkpoint_after_s, self._on_timer)

    def _written(self, batch: list[_Record], indices: range | None, error: Exception | None) -> None:
        """Resolve the futures of a batch, and submit the next one."""
        if indices is not None:
            for index, (_, future) in zip(indices, batch, strict=True):
                if not future.done():  # the caller was cancelled; its record is written
                    future.set_result(index)
            self._is_signed = False
        elif error is not None:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        assert self._loop is not None
        self._last_append_s = self._loop.time()
        self._in_flight = []
        self._stall_timeout.end()
        self._next()

    def _fail_all(self) -> None:
        """Fail all pending appends after the stall timeout."""
        for _, future in (*self._in_flight, *self._waiting):
            if not future.done():
                future.set_exception(LedgerUnwritable(HUNG, where=str(self._ledger.directory)))
        self._waiting.clear()  # not submitted yet, and their futures have failed

    def _on_timer(self) -> None:
        """Write a checkpoint if no append came for `checkpoint_after_s`, else restart the timer."""
        loop, self._timer = self._loop, None
        assert loop is not None
        idle_s = 0.0 if self._is_busy else loop.time() - self._last_append_s
        if idle_s < self._checkpoint_after_s:
            self._timer = loop.call_later(self._checkpoint_after_s - idle_s, self._on_timer)
            return
        self._is_busy = True
        self._stall_timeout.begin(loop)  # records may be queued during the checkpoint
        self._thread.submit(loop, self._signed, self._ledger.checkpoint)

    def _signed(self, _checkpoint: object, error: Exception | None) -> None:
        # On failure the entries stay durable; the checkpoint is retried, at the latest at the next open.
        self._is_signed = error is None
        self._stall_timeout.end()
        self._next()


_Record = tuple[bytes, asyncio.Future[int]]
