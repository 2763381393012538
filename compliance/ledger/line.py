"""Lets several worker processes append to one ledger through the process that writes it.

    worker_end, writer_end = line()
    writer = LineWriter(ledger)                   # in the writing process
    writer.answer([writer_end])                   # when it is readable: append all with one fsync, and reply
    sender = LineSender(worker_end)               # in a worker, inside its event loop
    index = await sender.append_encoded(data)     # durable when this returns

A line is a pair of Unix sockets of type SOCK_SEQPACKET: a message arrives complete or is lost with its worker. While
one batch of a worker is written, its later records form the next batch. If a batch cannot be written, every append in
it fails. If the line is closed, every pending append fails.

    worker -> writer    A, then 4 bytes length and record, and so on      append
                        C                                                 write a checkpoint
    writer -> worker    K, then 8 bytes index of the first record         done
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
from .group import MAX_BATCH, MAX_WAITING
from .record import encode_record
from .store import Ledger

_FULL_BYTES = 96 << 10  # limit before adding a record; with one more of 64 KiB a message stays below _MESSAGE_BYTES
_MESSAGE_BYTES = 192 << 10  # below the socket buffer of Linux, by default 212,992 (net.core.wmem_default)
_LENGTH_BYTES, _INDEX_BYTES = 4, 8


def line() -> tuple[socket.socket, socket.socket]:
    """Return the ends of a new line: the worker's and the writer's, both non-blocking."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setblocking(False)
    return ends


class LineWriter:
    """The side of the process that writes the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.queue_depth = 0
        """Number of records that waited in the lines at the newest `answer`. Further ones wait in the workers."""

    def answer(self, ends: Sequence[socket.socket]) -> bool:
        """Receive one message from each readable end, write all records with one fsync, and reply.

        Returns:
            True if records were written.
        """
        asked: list[tuple[socket.socket, list[bytes]]] = []
        for end in ends:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                if message := end.recv(_MESSAGE_BYTES):
                    asked.append((end, _records(message)))
        records = [record for _, batch in asked for record in batch]
        self.queue_depth = len(records)
        appending = [(end, len(batch)) for end, batch in asked if batch]
        checking = [end for end, batch in asked if not batch]  # a message without records requests a checkpoint
        try:
            first = self._ledger.append_encoded(records).start
        except SovctlError as error:
            for end, _ in asked:
                _reply(end, b"E" + error.message.encode())
            return False
        for end, count in appending:
            _reply(end, b"K" + first.to_bytes(_INDEX_BYTES))
            first += count
        if checking:
            answer = self._check()
            for end in checking:
                _reply(end, answer)
        return bool(records)

    def _check(self) -> bytes:
        try:
            self._ledger.checkpoint()
        except SovctlError as error:
            return b"E" + error.message.encode()
        return b"K" + self._ledger.size.to_bytes(_INDEX_BYTES)


class LineSender:
    """The side of a worker. Construct it inside the event loop.

    Args:
        end: the worker end of a line.
        on_broken: called once when the writing process has ended.
        max_waiting: maximum number of queued records; further ones are refused.
        stall_timeout: time limit of the reply to a message.
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
        self._loop.add_reader(end.fileno(), self._receive)

    async def append(self, record: Mapping[str, Any]) -> int:
        """Append one record, and return its index when it is durable.

        Raises:
            InputError: the record is too large, or has values that are not plain.
            LedgerUnwritable: the record is not durable. Do not perform the action it records.
        """
        return await self.append_encoded(encode_record(record))

    def append_encoded(self, data: bytes) -> asyncio.Future[int]:
        """Append the output of `encode_record`; see `append`."""
        future: asyncio.Future[int] = self._loop.create_future()
        if self._broken or self._stall_timeout.is_hung or len(self._waiting) >= self._max_waiting:
            queue_full = f"{self._max_waiting} records are already waiting for the disk"
            future.set_exception(
                LedgerUnwritable(self._broken or (HUNG if self._stall_timeout.is_hung else queue_full))
            )
            return future
        self._waiting.append((data, future))
        self._send_soon()
        return future

    async def check(self) -> None:
        """Request a checkpoint, to check that the ledger is writable.

        Raises:
            LedgerUnwritable: the ledger is not writable.
        """
        if self._broken:
            raise LedgerUnwritable(self._broken)
        future: asyncio.Future[int] = self._loop.create_future()
        self._checks.append(future)
        self._send_soon()
        await future

    async def close(self) -> None:
        """Wait for the pending messages, and close the line."""
        pending = [*self._sent, *self._checks, *(future for _, future in self._waiting)]
        if pending:
            await asyncio.wait(pending)
        self._break("the ledger's line is closed")

    def _send_soon(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        """Send one message with as many queued records as fit."""
        if self._checks:
            message, self._sent, self._checks = b"C", self._checks, []
        else:
            chunks, size = [b"A"], 0
            while self._waiting and size < _FULL_BYTES and len(self._sent) < MAX_BATCH:
                data, future = self._waiting.popleft()
                chunks += (len(data).to_bytes(_LENGTH_BYTES), data)
                size += len(data) + _LENGTH_BYTES
                self._sent.append(future)
            message = b"".join(chunks)
        self._stall_timeout.begin(self._loop)
        try:
            self._end.send(message)
        except OSError:
            self._lost()

    def _fail_all(self) -> None:
        """Fail all pending appends after the stall timeout."""
        _fail([*self._sent, *(future for _, future in self._waiting)], HUNG)
        self._waiting.clear()  # not sent yet, and their futures have failed

    def _receive(self) -> None:
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
                if not future.done():  # the caller was cancelled; its record is written
                    future.set_result(index)
        else:
            _fail(sent, message[1:].decode())
        self._is_sending = False
        if self._waiting or self._checks:
            self._send_soon()

    def _lost(self) -> None:
        self._break("the process that writes the ledger has ended")
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


def _reply(end: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the worker has ended; its records are written
        end.send(message)


def _fail(futures: Sequence[asyncio.Future[int]], why: str) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(LedgerUnwritable(why))
