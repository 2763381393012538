"""What only a file can do to a vault: be locked, moved, replaced, filled, or be something else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from vault_homes import KEK, ONE, TOKEN, TTL_S, TWO, VALUE, Clock, SqliteHome, open_vault, with_vault
from waiting import until

from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault, VaultFailed
from sovctl.gateway.vault.database.sqlite_file import SqliteFile
from sovctl.gateway.vault.database.sqlite_store import SqliteStore
from sovctl.gateway.vault.database.store import Batch
from sovctl.support.errors import InputError

THREE = Conversation("retail", "3" * 64, True)


async def _store(vault: Vault) -> None:
    await vault.store(ONE, {TOKEN: VALUE})


async def _nothing(_vault: Vault) -> None:
    """Opening it is enough."""


def test_its_files_are_readable_by_us_alone(sqlite_home: SqliteHome) -> None:
    async def use(vault: Vault) -> set[int]:
        await _store(vault)
        return {stat.S_IMODE(path.stat().st_mode) for path in sqlite_home.path.parent.iterdir()}

    assert with_vault(sqlite_home, use) == {0o600}
    assert stat.S_IMODE(sqlite_home.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 40, None])
def test_file_that_is_not_a_vault_is_rejected_unchanged(sqlite_home: SqliteHome, content: bytes | None) -> None:
    path = sqlite_home.path
    path.parent.mkdir()
    if content is None:
        sqlite_home.sql("CREATE TABLE other (x)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(InputError, match="vault"):
        with_vault(sqlite_home, _nothing)
    assert path.read_bytes() == before


def test_a_vault_of_another_version_is_refused(sqlite_home: SqliteHome) -> None:
    with_vault(sqlite_home, _store)
    sqlite_home.sql("PRAGMA user_version = 1")
    with pytest.raises(InputError, match="expected vault version 3, got 1"):
        with_vault(sqlite_home, _nothing)


def test_a_start_that_was_killed_between_schema_and_keys_is_made_good(sqlite_home: SqliteHome) -> None:
    with_vault(sqlite_home, _nothing)
    sqlite_home.sql("DELETE FROM keys")
    with_vault(sqlite_home, _store)
    assert with_vault(sqlite_home, lambda v: v.load(ONE)) == {TOKEN: VALUE}


def test_erasing_leaves_no_copy_of_a_key_in_the_files(sqlite_home: SqliteHome) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {"EMAIL_OTHER": "stays"})
        held = sqlite_home.sql("SELECT keys, sealed FROM pieces WHERE conversation = ?", bytes.fromhex(ONE.key))
        assert all(part in sqlite_home.dump() for part in held[0])
        await vault.drop(ONE)
        assert not any(part in sqlite_home.dump() for part in held[0])
        assert await vault.load(TWO) == {"EMAIL_OTHER": "stays"}

    with_vault(sqlite_home, use)


def test_an_erasure_that_cannot_reach_the_copies_says_so(sqlite_home: SqliteHome) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        backup = sqlite3.connect(sqlite_home.path, isolation_level=None)
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM pieces").fetchall()
        with pytest.raises(VaultFailed, match="write-ahead log cannot be emptied"):
            await vault.drop(ONE)
        assert await vault.load(ONE) == {}
        backup.execute("ROLLBACK")
        backup.close()
        await vault.drop(ONE)

    with_vault(sqlite_home, use)


def test_a_log_is_emptied_after_others_who_copy_it(sqlite_home: SqliteHome) -> None:
    """Another worker's erasure, or a commit that made the log too long: SQLite itself does not wait for them."""
    with_vault(sqlite_home, _store)
    file = SqliteFile(sqlite_home.path, busy_timeout_s=60)
    reader, copier, looker = (
        sqlite3.connect(sqlite_home.path, isolation_level=None, timeout=60, check_same_thread=False) for _ in range(3)
    )
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM pieces").fetchall()
    sqlite_home.sql("UPDATE pieces SET expires_at = expires_at + 1")  # which the reader does not see
    with ThreadPoolExecutor() as pool:
        copying = pool.submit(copier.execute, "PRAGMA wal_checkpoint(TRUNCATE)")
        until(lambda: looker.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0], "somebody copies the log")
        emptying = pool.submit(file.forget_copies)
        with pytest.raises(TimeoutError):
            emptying.result(timeout=0.2)
        reader.execute("ROLLBACK")
        copying.result()
        emptying.result()
    assert sqlite_home.path.with_name(f"{sqlite_home.path.name}-wal").stat().st_size == 0
    file.close()
    for each in (reader, copier, looker):
        each.close()


def test_a_locked_vault_fails_and_recovers(sqlite_home: SqliteHome) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        other = sqlite3.connect(sqlite_home.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        known, new = vault.store(ONE, {TOKEN: VALUE}), vault.store(TWO, {"EMAIL_NEW": "x"})
        for doomed in (known, new, vault.check()):
            with pytest.raises(VaultFailed, match="unwritable: SQLITE_BUSY"):
                await doomed
        assert await vault.load(ONE) == {TOKEN: VALUE}  # reading waits for nobody
        other.execute("ROLLBACK")
        other.close()
        await vault.store(TWO, {"EMAIL_NEW": "x"})
        assert await vault.load(TWO) == {"EMAIL_NEW": "x"}

    with_vault(sqlite_home, use)


@pytest.mark.parametrize("is_replaced", [False, True], ids=["gone", "replaced"])
def test_a_vault_that_was_taken_away_fails_and_recovers(sqlite_home: SqliteHome, is_replaced: bool) -> None:
    """SQLite alone would go on in the file that nobody finds again."""
    path = sqlite_home.path
    away = path.with_name("away")

    async def main(vault: Vault) -> None:
        path.rename(away)
        if is_replaced:
            path.write_bytes(away.read_bytes())
        for use in (vault.store(ONE, {TOKEN: VALUE}), vault.load(ONE), vault.check()):
            with pytest.raises(VaultFailed, match="was removed or replaced"):
                await use
        away.replace(path)
        await vault.store(ONE, {TOKEN: VALUE})
        assert await vault.load(ONE) == {TOKEN: VALUE}

    with_vault(sqlite_home, main)


_FILLER = """
import asyncio, resource, sys
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault, VaultFailed
from sovctl.gateway.vault.database.sqlite_file import SqliteFile
from sovctl.gateway.vault.encryption.keks import LocalKek

async def main():
    vault = await Vault.open(await store(), [LocalKek(bytes(range(32)))], ttl_s=1600, clock=lambda: 1_000_000.0)
    number = 0
    def conversation(number): return Conversation("retail", f"{number:064x}", True)
    async def put(number, times=300): await vault.store(conversation(number), {"TEXT_0": f"value {number}" * times})
    await put(0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, resource.RLIM_INFINITY))
    try:
        for number in range(1, 1000):
            await asyncio.gather(put(number), put(number + 10_000))
    except VaultFailed as error:
        print("failed", error)
    try:
        await put(99_999, times=100_000)  # more than the whole limit
    except VaultFailed:
        print("failed again")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await vault.check()
    await put(number)
    for each in range(number + 1):
        assert await vault.load(conversation(each)) == {"TEXT_0": f"value {each}" * 300}, each
    print("kept", number + 1)
    await vault.close()

asyncio.run(main())
"""


def test_on_a_full_disk_nothing_is_acknowledged_that_is_not_kept(sqlite_home: SqliteHome) -> None:
    done = subprocess.run(
        [sys.executable, "-c", sqlite_home.script() + _FILLER], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith(f"failed {sqlite_home.path}: the vault is unreadable or unwritable: SQLITE_")
    assert rest[0] == "failed again"
    assert int(rest[1].removeprefix("kept ")) > 5


def test_closing_twice_and_using_it_afterwards_are_defined(sqlite_home: SqliteHome) -> None:
    async def use() -> None:
        vault = await open_vault(sqlite_home)
        await vault.close()
        await vault.close()
        with pytest.raises(VaultFailed):
            await vault.load(ONE)

    asyncio.run(use())


def test_what_waits_when_it_is_closed_is_still_kept(sqlite_home: SqliteHome) -> None:
    many = [Conversation("retail", os.urandom(32).hex(), True) for _ in range(600)]

    async def use() -> None:
        vault = await open_vault(sqlite_home)
        waiting = [asyncio.ensure_future(vault.store(each, {TOKEN: VALUE})) for each in many]
        await asyncio.sleep(0)
        await vault.close()
        await asyncio.gather(*waiting)

    asyncio.run(use())
    assert sqlite_home.sql("SELECT count(*) FROM pieces") == [(len(many),)]


class HangingStore(SqliteStore):
    """A real store whose disk hangs until it is let go."""

    begun: asyncio.Event
    goes_on: asyncio.Event

    async def write(self, batch: Batch) -> set[bytes]:
        self.begun.set()
        await self.goes_on.wait()
        return await super().write(batch)


def test_a_store_that_hangs_fails_whoever_waits_and_is_believed_again_once_it_answers(sqlite_home: SqliteHome) -> None:
    async def work() -> None:
        store = HangingStore.open(sqlite_home.path)
        store.begun, store.goes_on = asyncio.Event(), asyncio.Event()
        vault = await Vault.open(store, [KEK], ttl_s=TTL_S, clock=Clock(), disk_timeout_s=0.05)
        waiting = [vault.store(ONE, {TOKEN: VALUE})]
        await store.begun.wait()
        waiting.append(vault.store(TWO, {TOKEN: VALUE}))  # behind the batch that hangs
        for each in waiting:
            with pytest.raises(VaultFailed, match="has not answered"):
                await each
        with pytest.raises(VaultFailed, match="has not answered"):
            await vault.store(TWO, {TOKEN: VALUE})  # at once: nothing is put behind a batch that hangs
        store.goes_on.set()
        await _until_kept(vault, THREE)
        await vault.close()
        after = await open_vault(sqlite_home)
        # What was begun is kept whole; of what was not, nothing, as whoever waited was told.
        assert [await after.load(each) for each in (ONE, TWO, THREE)] == [{TOKEN: VALUE}, {}, {TOKEN: VALUE}]
        await after.close()

    asyncio.run(work())


async def _until_kept(vault: Vault, conversation: Conversation) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(VaultFailed):
                return await vault.store(conversation, {TOKEN: VALUE})
            await asyncio.sleep(0.01)
