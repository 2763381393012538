"""The vault's store in one SQLite file: the embedded default, for all gateway processes of one host.

Two threads with one connection each: one writes and one reads, so that reads do not wait for a write to the disk.

    store = SqliteStore.open(Path("/var/lib/sovctl/gateway/vault.db"))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

from sovctl.support.processes.worker_thread import WorkerThread

from ..encryption.errors import VaultFailed
from .rows import Counts, KeyRow, RingRewrap, Row
from .sqlite_erasures import SqliteErasures
from .sqlite_file import BUSY_TIMEOUT_S, SqliteFile
from .store import Batch


class SqliteStore:
    """See `store.Store`. Created by `open`."""

    def __init__(self, path: Path, writing: SqliteFile, reading: SqliteFile) -> None:
        self.where = str(path)
        self._writing, self._reading = writing, reading
        closed = partial(VaultFailed, "the vault is closed")
        self._writer, self._reader = (
            WorkerThread("vault writer", closed=closed),
            WorkerThread("vault reader", closed=closed),
        )
        self.erasures = SqliteErasures(self._writer, writing, self._reader, reading)

    @classmethod
    def open(cls, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Self:
        """Open the file; create it with mode 600 if absent.

        Args:
            busy_timeout_s: how long to wait for another process that writes.

        Raises:
            InputError: the file cannot be opened, or is not a vault.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        previous = os.umask(0o077)
        try:
            writing = SqliteFile(path, busy_timeout_s=busy_timeout_s)
            try:
                return cls(path, writing, SqliteFile(path, busy_timeout_s=busy_timeout_s))
            except BaseException:
                writing.close()
                raise
        finally:
            os.umask(previous)

    async def write(self, batch: Batch) -> set[bytes]:
        """See `Store.write`."""
        return await self._writer.run(self._writing.write, batch)

    async def read(self, conversations: Sequence[bytes]) -> list[Row]:
        """See `Store.read`."""
        return await self._reader.run(self._reading.read, conversations)

    async def purge(self, now: int, *, tombstone_s: int, limit: int) -> int:
        """See `Store.purge`."""
        return await self._writer.run(lambda: self._writing.purge(now, tombstone_s=tombstone_s, limit=limit))

    async def forget_copies(self) -> None:
        """See `Store.forget_copies`."""
        await self._writer.run(self._writing.forget_copies)

    async def keys(self) -> list[KeyRow]:
        """See `Store.keys`."""
        return await self._reader.run(self._reading.keys)

    async def add_keys(self, keys: Sequence[KeyRow], *, after: int | None) -> bool:
        """See `Store.add_keys`."""
        return await self._writer.run(lambda: self._writing.add_keys(keys, after=after))

    async def wrap_again(self, key: KeyRow, seen_wrapped: bytes) -> bool:
        """See `Store.wrap_again`."""
        return await self._writer.run(self._writing.wrap_again, key, seen_wrapped)

    async def remove_keys(self) -> list[int]:
        """See `Store.remove_keys`."""
        return await self._writer.run(self._writing.remove_keys)

    async def stale(self, wrapping_key: int, *, limit: int) -> list[Row]:
        """See `Store.stale`."""
        return await self._reader.run(lambda: self._reading.stale(wrapping_key, limit=limit))

    async def count_stale(self, wrapping_key: int) -> int:
        """See `Store.count_stale`."""
        return await self._reader.run(self._reading.count_stale, wrapping_key)

    async def rewrite(self, changes: Sequence[RingRewrap], *, wrapping_key: int) -> int:
        """See `Store.rewrite`."""
        return await self._writer.run(lambda: self._writing.rewrite(changes, wrapping_key=wrapping_key))

    async def counts(self, now: int) -> Counts:
        """See `Store.counts`."""
        return await self._reader.run(self._reading.counts, now)

    async def check(self, now: int) -> None:
        """See `Store.check`."""
        await self._writer.run(self._writing.check, now)

    async def close(self) -> None:
        """See `Store.close`."""
        for thread, file in ((self._writer, self._writing), (self._reader, self._reading)):
            if not thread.is_closed:
                await thread.run(file.close)
                thread.close()
