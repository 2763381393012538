"""An erasure on a full disk: refused, nothing half, nothing uncounted; with room again it is done whole.

The disk is full when a file of this process may not grow: `write` says so in the middle of any transaction.
"""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import pytest
from vault_homes import TOKEN, VALUE, Clock, SqliteHome, with_vault

from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault, VaultFailed
from sovctl.gateway.vault.database.erasures import ABANDONED_AFTER_S, Erasure, chained

MANY = [Conversation("retail", f"{number:064x}", True) for number in range(250)]
AT_ONCE = 100  # conversations in one of its transactions


@contextmanager
def full_disk(room_bytes: int) -> Iterator[None]:
    """No file of this process may be larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


async def _told(vault: Vault) -> list[Erasure]:
    """What the ledger gets."""
    told: list[Erasure] = []

    async def record(erasure: Erasure) -> None:
        told.append(erasure)

    await vault.record_erasures(record)
    return told


def test_an_erasure_without_room_is_refused_and_done_whole_later(tmp_path: Path) -> None:
    erased = [_erased_in(SqliteHome(tmp_path / str(room_kib)), room_kib << 10) for room_kib in range(0, 120, 12)]
    # Without room for a first word; before, between and behind its batches, on the way to a new wrapping key.
    assert erased == sorted(erased)
    assert {0, 100, len(MANY)} <= set(erased)


def _erased_in(home: SqliteHome, room_bytes: int) -> int:
    """How many conversations were gone when an erasure had no more room than that; what is promised then, holds."""
    clock, erased = Clock(), 0

    async def use(vault: Vault) -> None:
        nonlocal erased
        await asyncio.gather(*(vault.store(each, {TOKEN: VALUE}) for each in MANY))
        home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        rings = [keys for (keys,) in home.sql("SELECT keys FROM pieces ORDER BY conversation")]
        with full_disk(room_bytes), pytest.raises(VaultFailed, match="is unreadable or unwritable"):
            await vault.eraser.erase(vault.eraser.tenant("retail"), by="dpo")
        loaded = [await vault.load(each) for each in MANY]
        erased = loaded.count({})
        assert loaded == [{}] * erased + [{TOKEN: VALUE}] * (len(MANY) - erased)  # each one whole or gone

        whole = await vault.eraser.erase(vault.eraser.tenant("retail"), by="dpo")
        assert (whole.is_complete, whole.wrapping_keys > 0) == (True, True)
        assert whole.conversations == whole.data_keys == len(MANY) - erased
        assert [await vault.load(each) for each in MANY] == [{}] * len(MANY)

        clock.now += ABANDONED_AFTER_S + 1
        told = await _told(vault)
        assert whole in told
        for refused in [each for each in told if each != whole]:  # none, where it could not even begin
            assert (refused.is_complete, refused.data_keys, refused.wrapping_keys) == (False, erased, 0)
            batches = [rings[start : min(start + AT_ONCE, erased)] for start in range(0, erased, AT_ONCE)]
            assert refused.destroyed_sha256 == reduce(chained, batches, "")
        assert len(told) == 2 or not erased

    with_vault(home, use, clock=clock)
    return erased
