"""Many requests, one fsync: group commit for an asyncio server.

    async with GroupCommit(ledger) as group:
        index = await group.append({"type": "request", ...})  # durable when this returns

While one batch is on its way to the disk, the next one gathers; nobody waits on a timer. An error reaches everybody
whose record was in the batch, and the caller must then refuse the answer: no audit write, no answer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from sovctl.compliance.errors import SovctlError
from sovctl.compliance.ledger.errors import LedgerUnwritable
from sovctl.compliance.ledger.format import encode_record
from sovctl.compliance.ledger.store import Ledger

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
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        max_batch: int = MAX_BATCH,
        max_waiting: int = MAX_WAITING,
        checkpoint_after_s: float = CHECKPOINT_AFTER_S,
    ) -> None:
        self._ledger = ledger
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._checkpoint_after_s = checkpoint_after_s
        self._waiting: deque[tuple[bytes, asyncio.Future[int]]] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._writer: asyncio.Task[None] | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    async def append(self, record: Mapping[str, Any]) -> int:
        """Append one record; its index, once it is on the disk.

        Raises:
            InputError: the record is too large or not made of plain values; nobody else is affected.
            LedgerUnwritable: it was not made durable. Do not go on as if it had been.
        """
        return await self.append_encoded(encode_record(record))

    async def append_encoded(self, data: bytes) -> int:
        """`append` for a record that is canonical JSON already, as `encode_record` makes it, and not longer.

        Raises:
            LedgerUnwritable: as for `append`.
        """
        if self._closing or len(self._waiting) >= self._max_waiting:
            raise LedgerUnwritable(
                "the ledger is closing"
                if self._closing
                else f"expected at most {self._max_waiting} records waiting for the disk, got one more",
                where=str(self._ledger.directory),
                hint="the disk does not keep up; nothing is served unrecorded",
            )
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_batches(), name="ledger group commit")
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((data, future))
        self._wake.set()
        return await future

    async def check(self) -> None:
        """Return when the ledger can be written.

        Raises:
            LedgerUnwritable: it can't.
        """
        await asyncio.get_running_loop().run_in_executor(self._executor, self._ledger.checkpoint)

    async def close(self) -> None:
        """Write what waits, sign a checkpoint, end the writer. Later appends are refused."""
        self._closing = True
        self._wake.set()
        if self._writer is not None:
            await self._writer
        self._executor.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _write_batches(self) -> None:
        loop = asyncio.get_running_loop()
        is_signed = True
        while True:
            self._wake.clear()
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_batch))]
                try:
                    indices = await loop.run_in_executor(
                        self._executor, self._ledger.append_encoded, [data for data, _ in batch]
                    )
                    for index, (_, future) in zip(indices, batch, strict=True):
                        if not future.done():  # a caller that gave up; its record is written all the same
                            future.set_result(index)
                    is_signed = False
                except Exception as error:  # noqa: BLE001 - whatever it is, every waiting request must hear of it
                    _fail(batch, error)
            if not is_signed and (self._closing or not await self._woken()):
                is_signed = await self._sign(loop)
            elif is_signed and not self._closing:
                await self._wake.wait()
            if self._closing and is_signed and not self._waiting:
                return

    async def _woken(self) -> bool:
        """Wait for a record; False when none came in `checkpoint_after_s`."""
        try:
            await asyncio.wait_for(self._wake.wait(), self._checkpoint_after_s)
        except TimeoutError:
            return False
        return True

    async def _sign(self, loop: asyncio.AbstractEventLoop) -> bool:
        try:
            await loop.run_in_executor(self._executor, self._ledger.checkpoint)
        except SovctlError:
            return self._closing  # the entries are durable; it is tried again, and at the latest when next opened
        return True


def _fail(batch: list[tuple[bytes, asyncio.Future[int]]], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
