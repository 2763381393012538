"""Many requests, one fsync: group commit for an asyncio server.

    async with GroupCommit(ledger) as group:
        index = await group.append({"type": "request", ...})  # durable when this returns

While one batch is on its way to the disk, the next one gathers; nobody waits on a timer. An error reaches everybody
whose record was in the batch, and the caller must then refuse the answer: no audit write, no answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from sovctl.support.errors import SovctlError
from sovctl.support.stall_timeout import HUNG, StallTimeout
from sovctl.support.worker_thread import WorkerThread

from .errors import LedgerUnwritable
from .format import encode_record
from .store import Ledger

MAX_BATCH = 256  # records; one entry bundle of C2SP tlog-tiles
MAX_WAITING = 8192  # records; at most 512 MiB when all are as large as a record may be
CHECKPOINT_AFTER_S = 1.0  # seconds of silence, then whatever is not signed yet is signed


class GroupCommit:
    """Lets many coroutines append to one ledger.

    Args:
        ledger: open; stays open when the group is closed.
        max_batch: records per fsync at most.
        max_waiting: records that may wait; the next one is refused, so that a slow disk cannot fill the memory.
        checkpoint_after_s: seconds without an append after which a checkpoint is written.
        stall_timeout: how long a batch, or a checkpoint, may take.
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
        self._heard_at = 0.0
        self._under_way: list[_Record] = []
        self._stall_timeout = stall_timeout or StallTimeout()
        self._stall_timeout.on_hung = self._fail_all
        self._thread = WorkerThread("ledger", closed=partial(LedgerUnwritable, "the ledger is closing"))

    async def append(self, record: Mapping[str, Any]) -> int:
        """Append one record; its index, once it is on the disk.

        Raises:
            InputError: the record is too large or not made of plain values; nobody else is affected.
            LedgerUnwritable: it was not made durable. Do not go on as if it had been.
        """
        return await self.append_encoded(encode_record(record))

    def append_encoded(self, data: bytes) -> asyncio.Future[int]:
        """`append` for a record that is canonical JSON already, as `encode_record` makes it, and not longer.

        Raises:
            LedgerUnwritable: as for `append`.
        """
        if self._closing or self._stall_timeout.is_hung or len(self._waiting) >= self._max_waiting:
            raise LedgerUnwritable(
                "the ledger is closing"
                if self._closing
                else HUNG
                if self._stall_timeout.is_hung
                else f"expected at most {self._max_waiting} records waiting for the disk, got one more",
                where=str(self._ledger.directory),
                hint="the disk does not keep up; nothing is served unrecorded",
            )
        if (loop := self._loop) is None:
            loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        self._waiting.append((data, future))
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._next)  # whoever else is ready in this turn of the loop comes along
        return future

    async def check(self) -> None:
        """Return when the ledger can be written.

        Raises:
            LedgerUnwritable: it can't.
        """
        await self._thread.run(self._ledger.checkpoint)

    async def close(self) -> None:
        """Write what waits, sign a checkpoint, end the writer. Later appends are refused."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._is_busy:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        if not self._is_signed:
            with contextlib.suppress(SovctlError):  # the entries are durable; they are signed when it is next opened
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
        """Hand the next batch to the disk."""
        loop = self._loop
        assert loop is not None
        waiting = self._waiting
        if waiting:
            batch = self._under_way = [waiting.popleft() for _ in range(min(len(waiting), self._max_batch))]
            self._stall_timeout.begin(loop)
            written = partial(self._written, batch)
            self._thread.submit(loop, written, self._ledger.append_encoded, [data for data, _ in batch])
            return
        self._is_busy = False
        if self._idle is not None:
            self._idle.set_result(None)
        elif self._timer is None and not self._is_signed:
            self._timer = loop.call_later(self._checkpoint_after_s, self._look_at_clock)

    def _written(self, batch: list[_Record], indices: range | None, error: Exception | None) -> None:
        """Everybody hears what became of his record, whatever it is; then the next batch goes."""
        if indices is not None:
            for index, (_, future) in zip(indices, batch, strict=True):
                if not future.done():  # a caller that gave up; its record is written all the same
                    future.set_result(index)
            self._is_signed = False
        elif error is not None:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        assert self._loop is not None
        self._heard_at = self._loop.time()
        self._under_way = []
        self._stall_timeout.end()
        self._next()

    def _fail_all(self) -> None:
        """Whoever waits on a batch that takes too long hears that it is not durable."""
        for _, future in (*self._under_way, *self._waiting):
            if not future.done():
                future.set_exception(LedgerUnwritable(HUNG, where=str(self._ledger.directory)))
        self._waiting.clear()  # these were not begun, and nobody waits for them any more

    def _look_at_clock(self) -> None:
        """One timer serves many records: sign when nothing came for a while, else look again."""
        loop, self._timer = self._loop, None
        assert loop is not None
        silent_s = 0.0 if self._is_busy else loop.time() - self._heard_at
        if silent_s < self._checkpoint_after_s:
            self._timer = loop.call_later(self._checkpoint_after_s - silent_s, self._look_at_clock)
            return
        self._is_busy = True
        self._stall_timeout.begin(loop)  # records may come while it is signed
        self._thread.submit(loop, self._signed, self._ledger.checkpoint)

    def _signed(self, _checkpoint: object, error: Exception | None) -> None:
        # When it fails, the entries are durable all the same; it is tried again, and at the latest when next opened.
        self._is_signed = error is None
        self._stall_timeout.end()
        self._next()


_Record = tuple[bytes, asyncio.Future[int]]
