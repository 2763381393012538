"""Several processes, one ledger: workers send their records down a line to the one process that writes.

    worker_end, writer_end = line()
    writer = LineWriter(ledger)                   # in the writing process
    writer.answer([writer_end])                   # when it can be read: append, one fsync for all, tell everybody
    sender = LineSender(worker_end)               # in a worker, inside its event loop
    index = await sender.append_encoded(data)     # durable when this returns

A line is a pair of unix sockets that keep messages whole, so a worker that dies in the middle of one leaves nothing
half-said. While one batch of a worker is on its way, its next one gathers. What can't be written is an error for
everybody whose record was in the batch; a line that breaks is one for everybody who waits on it.

    worker -> writer    A, then 4 bytes length and record, and so on      append
                        C                                                 sign what is not signed yet
    writer -> worker    K, then 8 bytes index of the first                done
                        E, then the reason                                nothing was written
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sovctl.support.errors import SovctlError
from sovctl.support.stall_timeout import HUNG, StallTimeout

from .errors import LedgerUnwritable
from .format import encode_record
from .group import MAX_BATCH, MAX_WAITING
from .store import Ledger

_FULL_BYTES = 96 << 10  # no record is added to a message beyond this; with one of 64 KiB it stays under _MESSAGE_BYTES
_MESSAGE_BYTES = 192 << 10  # below Linux' default for a socket's buffer, 212,992 (net.core.wmem_default)
_LENGTH_BYTES, _INDEX_BYTES = 4, 8


def line() -> tuple[socket.socket, socket.socket]:
    """The two ends of a line, the worker's and the writer's; neither blocks."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setblocking(False)
    return ends


class LineWriter:
    """The writing process' side."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def answer(self, ends: Sequence[socket.socket]) -> bool:
        """Take one message from each end that has one, write all records with one fsync, and answer.

        Returns:
            True when records were written.
        """
        asked: list[tuple[socket.socket, list[bytes]]] = []
        for end in ends:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                if message := end.recv(_MESSAGE_BYTES):
                    asked.append((end, _records(message)))
        records = [record for _, batch in asked for record in batch]
        appending = [(end, len(batch)) for end, batch in asked if batch]
        checking = [end for end, batch in asked if not batch]  # who sends no record asks for a signature
        try:
            first = self._ledger.append_encoded(records).start
        except SovctlError as error:
            for end, _ in asked:
                _say(end, b"E" + error.message.encode())
            return False
        for end, count in appending:
            _say(end, b"K" + first.to_bytes(_INDEX_BYTES))
            first += count
        if checking:
            answer = self._check()
            for end in checking:
                _say(end, answer)
        return bool(records)

    def _check(self) -> bytes:
        try:
            self._ledger.checkpoint()
        except SovctlError as error:
            return b"E" + error.message.encode()
        return b"K" + self._ledger.size.to_bytes(_INDEX_BYTES)


class LineSender:
    """A worker's side; made inside its event loop.

    Args:
        end: the worker's end of a line.
        on_broken: called once when the writing process is gone.
        max_waiting: records that may wait; the next one is refused.
        stall_timeout: how long a message may wait for its answer.
    """

    def __init__(
        self,
        end: socket.socket,
        *,
        on_broken: Callable[[], None] | None = None,
        max_waiting: int = MAX_WAITING,
        stall_timeout: StallTimeout | None = None,
    ) -> None:
        self._on_broken = on_broken
        self._end = end
        self._max_waiting = max_waiting
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, asyncio.Future[int]]] = deque()
        self._checks: list[asyncio.Future[int]] = []
        self._sent: list[asyncio.Future[int]] = []
        self._is_sending = False
        self._broken = ""
        self._stall_timeout = stall_timeout or StallTimeout()
        self._stall_timeout.on_hung = self._fail_all
        self._loop.add_reader(end.fileno(), self._hear)

    async def append(self, record: Mapping[str, Any]) -> int:
        """Append one record; its index, once it is on the disk.

        Raises:
            InputError: the record is too large or not made of plain values.
            LedgerUnwritable: it was not made durable. Do not go on as if it had been.
        """
        return await self.append_encoded(encode_record(record))

    def append_encoded(self, data: bytes) -> asyncio.Future[int]:
        """`append` for a record that is canonical JSON already."""
        future: asyncio.Future[int] = self._loop.create_future()
        if self._broken or self._stall_timeout.is_hung or len(self._waiting) >= self._max_waiting:
            expected = f"expected at most {self._max_waiting} records waiting for the disk, got one more"
            future.set_exception(LedgerUnwritable(self._broken or (HUNG if self._stall_timeout.is_hung else expected)))
            return future
        self._waiting.append((data, future))
        self._send_soon()
        return future

    async def check(self) -> None:
        """Return when the ledger can be written.

        Raises:
            LedgerUnwritable: it can't.
        """
        if self._broken:
            raise LedgerUnwritable(self._broken)
        future: asyncio.Future[int] = self._loop.create_future()
        self._checks.append(future)
        self._send_soon()
        await future

    async def close(self) -> None:
        """Wait for what is on its way; then the line is closed."""
        on_its_way = [*self._sent, *self._checks, *(future for _, future in self._waiting)]
        if on_its_way:
            await asyncio.wait(on_its_way)
        self._break("the ledger's line is closed")

    def _send_soon(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        """One message: everything that waits, as far as it fits."""
        if self._checks:
            message, self._sent, self._checks = b"C", self._checks, []
        else:
            pieces, size = [b"A"], 0
            while self._waiting and size < _FULL_BYTES and len(self._sent) < MAX_BATCH:
                data, future = self._waiting.popleft()
                pieces += (len(data).to_bytes(_LENGTH_BYTES), data)
                size += len(data) + _LENGTH_BYTES
                self._sent.append(future)
            message = b"".join(pieces)
        self._stall_timeout.begin(self._loop)
        try:
            self._end.send(message)
        except OSError:
            self._lost()

    def _fail_all(self) -> None:
        """Whoever waits on a batch that takes too long hears that it is not durable."""
        _fail([*self._sent, *(future for _, future in self._waiting)], HUNG)
        self._waiting.clear()  # these were not sent, and nobody waits for them any more

    def _hear(self) -> None:
        try:
            message = self._end.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._lost()
            return
        sent, self._sent = self._sent, []
        self._stall_timeout.end()
        if message[:1] == b"K":
            first = int.from_bytes(message[1:])
            for index, future in enumerate(sent, start=first):
                if not future.done():  # a caller that gave up; its record is written all the same
                    future.set_result(index)
        else:
            _fail(sent, message[1:].decode())
        self._is_sending = False
        if self._waiting or self._checks:
            self._send_soon()

    def _lost(self) -> None:
        self._break("the process that writes the ledger is gone")
        if self._on_broken is not None:
            self._on_broken()

    def _break(self, why: str) -> None:
        self._stall_timeout.stop()
        if not self._broken:
            self._loop.remove_reader(self._end.fileno())
            self._end.close()
        self._broken, self._is_sending = why, False
        waiting = [*self._sent, *self._checks, *(future for _, future in self._waiting)]
        self._sent, self._checks = [], []
        self._waiting.clear()
        _fail(waiting, why)


def _records(message: bytes) -> list[bytes]:
    records, position = [], 1
    while position < len(message):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(message[position:start])
        records.append(message[start:position])
    return records


def _say(end: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the worker is gone; its records are written all the same
        end.send(message)


def _fail(futures: Sequence[asyncio.Future[int]], why: str) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(LedgerUnwritable(why))
