"""What only a database can do: be away, be newer than we are, be asked by many hosts, be asked on trial."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from postgresql_server import PostgresqlServer
from quota_givens import NOON, ONE, Clock, caller, quota
from quota_places import PostgresqlPlace

from sovctl.gateway.quota.meter import LeaseReturn
from sovctl.gateway.quota.need import Amounts
from sovctl.gateway.quota.postgresql_store import SCHEMA, PostgresqlStore
from sovctl.gateway.quota.reservation import LimitReached
from sovctl.gateway.quota.store import LeaseRequest, QuotaUnavailable
from sovctl.gateway.quota.window import Window
from sovctl.gateway.settings import PostgresqlSettings
from sovctl.gateway.storage.postgresql import Address
from sovctl.support.errors import InputError


@pytest.fixture
def database(postgresql: PostgresqlServer, tmp_path: Path) -> PostgresqlPlace:
    return PostgresqlPlace(postgresql, tmp_path)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_without_the_database_nobody_with_limits_is_served_and_afterwards_again(database: PostgresqlPlace) -> None:
    async def work() -> None:
        who = caller(tokens_per_day=2000)
        async with quota(await database.store(), Clock()) as limits:
            await limits.check()
            assert await limits.used() == []
            database.server.kill()
            with pytest.raises(QuotaUnavailable):
                await limits.check()
            with pytest.raises(QuotaUnavailable):
                await limits.reserve(who, ONE)
            database.server.start()
            async with asyncio.timeout(60):
                while True:  # a second passes until it is tried again
                    try:
                        await limits.reserve(who, ONE)
                        return
                    except QuotaUnavailable:
                        await asyncio.sleep(0.1)

    run(work())


def test_a_schema_of_another_version_is_refused(database: PostgresqlPlace) -> None:
    async def work() -> None:
        await (await database.store()).close()
        database.server.psql(f"UPDATE {SCHEMA.name}.meta SET version = 99")
        with pytest.raises(InputError, match="expected a store of quotas of version 1, got 99"):
            await database.store()

    run(work())


def test_hosts_that_ask_at_once_get_the_limit_together(database: PostgresqlPlace) -> None:
    async def work() -> None:
        who = caller(requests_per_minute=30, concurrent_requests=25)
        stores = [await database.store() for _ in range(3)]
        hosts = [quota(store, Clock()) for store in stores]
        asked = [host.reserve(who, ONE) for host in hosts for _ in range(20)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(each) for each in results if isinstance(each, Exception)} == {LimitReached}
        let_through = sum(not isinstance(each, Exception) for each in results)
        assert 0 < let_through <= 25
        for store in stores:
            await store.close()

    run(work())


def test_what_is_given_back_in_pieces_is_all_given_back(database: PostgresqlPlace) -> None:
    async def work() -> None:
        store = await database.store()
        slot = Window.DAY.slot(NOON)
        await store.lease([LeaseRequest("client:a", "tokens_per_day", Window.DAY, slot, 1000, 1000, 1000)], [])
        back = LeaseReturn("client:a", "tokens_per_day", slot, 300)
        assert await store.lease([], [back, back]) == []
        assert await store.used(now=NOON) == [("client:a", "tokens_per_day", slot, 400)]
        await store.close()

    run(work())


def test_what_is_leased_on_trial_is_taken_from_nobody(database: PostgresqlPlace) -> None:
    async def work() -> None:
        who = caller(tokens_per_day=1000, concurrent_requests=1)
        address = Address.of(PostgresqlSettings.model_validate(database.settings))
        async with quota(await database.store(), Clock()) as limits:
            for _ in range(3):
                trial = await PostgresqlStore.open(address, is_trial=True)
                await quota(trial, Clock()).reserve(who, Amounts(1, 900, 0))
                await trial.close()
            assert await limits.used() == []
            await limits.reserve(who, Amounts(1, 900, 0))

    run(work())
