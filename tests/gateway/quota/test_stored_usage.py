"""Usage in both stores: added up by several processes, deleted after its time, in files of earlier releases too."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from quota_places import Place

from sovctl.gateway.quota.sqlite_store import _SCHEMA, SqliteStore
from sovctl.gateway.quota.usage import UsageKey, UsageSums

BRANCH = UsageKey(20_000, "retail", "cards", "client:branch", "assistant", "chat")
OTHER = BRANCH._replace(day=20_001, upstream="cloud")


def test_usage_of_several_processes_is_added_up_and_deleted_after_its_time(place: Place) -> None:
    async def run() -> None:
        one, two = await place.store(), await place.store()
        await asyncio.gather(
            *(
                store.add_usage([(BRANCH, UsageSums(1, 1, 2, 3, 10**12)), (OTHER, UsageSums(1))], oldest=0)
                for store in (one, two)
            )
        )
        assert await one.usage(0, 30_000) == [(BRANCH, UsageSums(2, 2, 4, 6, 2 * 10**12)), (OTHER, UsageSums(2))]
        assert await two.usage(20_001, 20_001) == [(OTHER, UsageSums(2))]
        await two.add_usage([(OTHER, UsageSums(1))], oldest=20_001)
        assert await one.usage(0, 30_000) == [(OTHER, UsageSums(3))]
        for store in (one, two):
            await store.close()

    asyncio.run(run())


def test_a_file_of_an_earlier_release_gets_the_table(tmp_path: Path) -> None:
    path = tmp_path / "quota.db"
    with sqlite3.connect(path) as database:
        database.executescript(_SCHEMA)
        database.execute("PRAGMA application_id = 0x736F7671")
    path.chmod(0o600)

    async def run() -> Any:
        store = SqliteStore.open(path)
        await store.add_usage([(BRANCH, UsageSums(1))], oldest=0)
        try:
            return await store.usage(0, 30_000)
        finally:
            await store.close()

    assert asyncio.run(run()) == [(BRANCH, UsageSums(1))]
