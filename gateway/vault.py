"""Where originals wait for their tokens to come back: one SQLite file, sealed.

Every conversation has a data key of its own, wrapped under the key-encryption key (KEK) that lives in another file;
every value is sealed with AES-256-GCM under that data key, bound to tenant, conversation and token, so that a row
that was moved or swapped does not open. Destroying the wrapped key erases the conversation, copies of the rows
included. Conversations stand in the file as keyed digests (`conversation.Conversation.key`), so nothing in it can be
read: not a value, not a tenant's or a conversation's name.

`store` returns when the rows are on the disk (WAL, synchronous=FULL); requests that wait together share one commit.

    vault = Vault.open(path, kek=key, ttl_s=86400)
    await vault.store(conversation, {"IBAN_...": "DE89 ..."})
    await vault.load(conversation)
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self, TypeVar

from sovctl.gateway.conversation import Conversation
from sovctl.gateway.vault_file import VaultFile

_Result = TypeVar("_Result")


class Vault:
    """The vault of one gateway process, for asyncio. All work happens in one thread."""

    def __init__(self, file: VaultFile, executor: ThreadPoolExecutor) -> None:
        self._file = file
        self._executor = executor
        self._waiting: list[tuple[Conversation, Mapping[str, str], asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    @classmethod
    def open(cls, path: Path, *, kek: bytes, ttl_s: int, clock: Callable[[], float] = time.time) -> Self:
        """Open the vault, or make one.

        Args:
            kek: 32 bytes.
            ttl_s: seconds after the last `store` in which a conversation can be read.
            clock: seconds since 1970; an argument for tests.

        Raises:
            InputError: the file can't be opened, is no vault, or was sealed under another key.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        executor = ThreadPoolExecutor(1, thread_name_prefix="vault")
        previous = os.umask(0o077)
        try:
            file = executor.submit(VaultFile, path, kek=kek, ttl_s=ttl_s, clock=clock).result()
        except BaseException:
            executor.shutdown()
            raise
        finally:
            os.umask(previous)
        return cls(file, executor)

    async def store(self, conversation: Conversation, values: Mapping[str, str]) -> None:
        """Keep what the tokens stand for; durable when this returns, and the conversation's time starts anew.

        Raises:
            VaultFailed: it is not durable. Do not send the tokens out.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((conversation, values, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_all(), name="vault writer")
        await future

    async def load(self, conversation: Conversation) -> dict[str, str]:
        """What the conversation's tokens stand for; empty when it expired, was erased or never was."""
        return await self._run(self._file.load, conversation)

    async def erase(self, conversation: Conversation) -> int:
        """Destroy the conversation's key and rows; how many values that made unreadable."""
        return await self._run(self._file.erase, conversation)

    async def purge_expired(self) -> int:
        """Erase what has expired; how many conversations that were."""
        return await self._run(self._file.purge_expired)

    async def check(self) -> None:
        """Return when the vault can be written.

        Raises:
            VaultFailed: it can't.
        """
        await self._run(self._file.check)

    async def close(self) -> None:
        """Finish what waits and close the file."""
        if self._writer is not None:
            await self._writer
        await self._run(self._file.close)
        self._executor.shutdown()

    async def _run(self, function: Callable[..., _Result], *args: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            error: Exception | None = None
            try:
                await self._run(self._file.store, [(conversation, values) for conversation, values, _ in batch])
            except Exception as caught:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
                error = caught
            for _, _, future in batch:
                if future.done():
                    continue  # the caller gave up; the rows are stored all the same
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)
