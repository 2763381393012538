"""The vault: durable when it says so, unreadable at rest, gone when erased."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from sovctl.compliance.errors import InputError
from sovctl.gateway.conversation import Conversation
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault_file import VaultFailed

KEK = bytes(range(32))
VALUE, TOKEN = "anna@example.com", "EMAIL_0123456789ABCDEF"
ONE, TWO = Conversation("retail", "1" * 64, True), Conversation("retail", "2" * 64, True)
Result = TypeVar("Result")


class Clock:
    """Time as an argument."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def with_vault(
    path: Path, use: Callable[[Vault], Awaitable[Result]], *, clock: Callable[[], float] | None = None
) -> Result:
    """Open the vault, use it, close it."""

    async def main() -> Result:
        vault = Vault.open(path, kek=KEK, ttl_s=100, clock=clock or Clock())
        try:
            return await use(vault)
        finally:
            await vault.close()

    return asyncio.run(main())


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def _store(vault: Vault) -> None:
    await vault.store(ONE, {TOKEN: VALUE})


def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    with_vault(tmp_path / "vault.db", _store)
    assert with_vault(tmp_path / "vault.db", lambda v: v.load(ONE)) == {TOKEN: VALUE}


def test_nothing_in_the_file_can_be_read(tmp_path: Path) -> None:
    async def use(vault: Vault) -> bytes:
        await vault.store(ONE, {TOKEN: VALUE})
        return everything_in(tmp_path)  # while it is open: the write-ahead log too

    for content in (with_vault(tmp_path / "vault.db", use), everything_in(tmp_path)):
        assert TOKEN.encode() in content  # the grep looks in the right place
        for secret in (VALUE, "anna", "example", "retail", KEK.decode("latin-1")):
            assert secret.encode("latin-1") not in content
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("vault.db*")} == {0}


def test_conversations_do_not_see_each_other(tmp_path: Path) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {TOKEN: "other"})
        assert await vault.load(ONE) == {TOKEN: VALUE}
        assert await vault.load(TWO) == {TOKEN: "other"}

    with_vault(tmp_path / "vault.db", use)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tokens SET sealed = (SELECT sealed FROM tokens WHERE conversation = '2')",
        "UPDATE tokens SET token = 'EMAIL_X'",
        "UPDATE conversations AS c SET wrapped_key = (SELECT wrapped_key FROM conversations WHERE id != c.id)",
        "UPDATE tokens SET sealed = zeroblob(40)",
    ],
)
def test_rows_that_were_moved_or_changed_do_not_open(tmp_path: Path, change: str) -> None:
    async def fill(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {TOKEN: "other"})

    with_vault(tmp_path / "vault.db", fill)
    database = sqlite3.connect(tmp_path / "vault.db")
    database.execute(change.replace("= '2'", f"= '{TWO.key}'"))
    database.commit()
    database.close()
    with pytest.raises(VaultFailed):
        with_vault(tmp_path / "vault.db", lambda v: v.load(ONE))


def test_the_same_conversation_key_of_another_tenant_does_not_open(tmp_path: Path) -> None:
    with_vault(tmp_path / "vault.db", _store)
    with pytest.raises(VaultFailed):
        with_vault(tmp_path / "vault.db", lambda v: v.load(dataclasses.replace(ONE, tenant="group")))


def test_another_key_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with_vault(tmp_path / "vault.db", _store)
    with pytest.raises(InputError, match="expected the key this vault was made with"):
        Vault.open(tmp_path / "vault.db", kek=bytes(32), ttl_s=100)


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 40, None])
def test_what_is_no_vault_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "vault.db"
    if content is None:
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE other (x)")
        database.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(InputError, match="expected a vault"):
        Vault.open(path, kek=KEK, ttl_s=100)
    assert path.read_bytes() == before


def test_a_conversation_expires_after_its_last_use(tmp_path: Path) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        clock.now += 60
        await vault.store(ONE, {"EMAIL_SECOND": "b"})
        clock.now += 60
        assert set(await vault.load(ONE)) == {TOKEN, "EMAIL_SECOND"}
        assert await vault.purge_expired() == 0
        clock.now += 41
        assert await vault.load(ONE) == {}
        assert await vault.purge_expired() == 1
        await vault.store(ONE, {"EMAIL_THIRD": "c"})
        assert await vault.load(ONE) == {"EMAIL_THIRD": "c"}

    with_vault(tmp_path / "vault.db", use, clock=clock)


def test_erasing_leaves_neither_key_nor_row_behind(tmp_path: Path) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {"EMAIL_OTHER": "stays"})
        row = sqlite3.connect(f"file:{tmp_path / 'vault.db'}?mode=ro", uri=True)
        wrapped = row.execute("SELECT wrapped_key FROM conversations WHERE id = ?", (ONE.key,)).fetchone()[0]
        row.close()
        assert wrapped in everything_in(tmp_path)
        assert await vault.erase(ONE) == 1
        assert wrapped not in everything_in(tmp_path)
        assert TOKEN.encode() not in everything_in(tmp_path)
        assert await vault.load(ONE) == {}
        assert await vault.load(TWO) == {"EMAIL_OTHER": "stays"}

    with_vault(tmp_path / "vault.db", use)


def test_one_token_never_gets_a_second_value(tmp_path: Path) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE, {TOKEN: VALUE})
        with pytest.raises(VaultFailed):
            await vault.store(ONE, {"EMAIL_NEW": "x", TOKEN: "another"})
        assert await vault.load(ONE) == {TOKEN: VALUE}

    with_vault(tmp_path / "vault.db", use)


def test_a_locked_vault_fails_and_recovers(tmp_path: Path) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        other = sqlite3.connect(tmp_path / "vault.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        for doomed in (vault.store(ONE, {"EMAIL_NEW": "x"}), vault.store(TWO, {"EMAIL_NEW": "x"}), vault.check()):
            with pytest.raises(VaultFailed, match="got: SQLITE_BUSY"):
                await doomed
        other.execute("ROLLBACK")
        other.close()
        await vault.store(TWO, {"EMAIL_NEW": "x"})
        assert await vault.load(TWO) == {"EMAIL_NEW": "x"}

    with_vault(tmp_path / "vault.db", use)


@pytest.mark.parametrize("is_replaced", [False, True], ids=["gone", "replaced"])
def test_a_vault_that_was_taken_away_fails_and_recovers(tmp_path: Path, is_replaced: bool) -> None:
    """SQLite alone would go on in the file that nobody finds again."""
    path, away = tmp_path / "vault.db", tmp_path / "away"

    async def main(vault: Vault) -> None:
        path.rename(away)
        if is_replaced:
            path.write_bytes(away.read_bytes())
        for use in (vault.store(ONE, {TOKEN: VALUE}), vault.load(ONE), vault.check()):
            with pytest.raises(VaultFailed, match="got another file or none"):
                await use
        away.replace(path)
        await vault.store(ONE, {TOKEN: VALUE})
        assert await vault.load(ONE) == {TOKEN: VALUE}

    with_vault(path, main)


def test_many_requests_at_once_are_all_kept(tmp_path: Path) -> None:
    many = [Conversation("retail", f"{number:064x}", False) for number in range(200)]

    async def use(vault: Vault) -> None:
        await asyncio.gather(*(vault.store(each, {TOKEN: each.key}) for each in many))

    with_vault(tmp_path / "vault.db", use)

    async def read(vault: Vault) -> list[dict[str, str]]:
        return [await vault.load(each) for each in many]

    assert with_vault(tmp_path / "vault.db", read) == [{TOKEN: each.key} for each in many]


_WRITER = """
import asyncio, sys
from pathlib import Path
from sovctl.gateway.conversation import Conversation
from sovctl.gateway.vault import Vault

async def main():
    vault = Vault.open(Path(sys.argv[1]), kek=bytes(range(32)), ttl_s=1000, clock=lambda: 1_000_000.0)
    async def fill(lane):
        for number in range(100_000):
            conversation = Conversation("retail", f"{number % 7:064x}", True)
            await vault.store(conversation, {f"EMAIL_{lane}_{number}": f"value {number}"})
            print(lane, number, flush=True)
    await asyncio.gather(*(fill(lane) for lane in range(3)))

asyncio.run(main())
"""


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        seen = [writer.stdout.readline().split() for _ in range(150)]
        os.kill(writer.pid, signal.SIGKILL)
        seen += [line.split() for line in writer.stdout.read().splitlines()]
    acknowledged = [line for line in seen if len(line) == 2]
    assert len(acknowledged) >= 150

    async def read(vault: Vault) -> dict[str, str]:
        found: dict[str, str] = {}
        for number in range(7):
            found |= await vault.load(Conversation("retail", f"{number:064x}", True))
        return found

    found = with_vault(path, read)
    for lane, number in acknowledged:
        assert found[f"EMAIL_{lane}_{number}"] == f"value {number}"
