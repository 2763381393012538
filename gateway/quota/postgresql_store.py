"""Store of leases in PostgreSQL, for the gateways of several hosts.

Its tables are in the database of the vault. A request that finds a lease makes no query; one that misses a lease waits
for a transaction of a few round trips, which all waiting requests share. An advisory lock serializes changes, as the
lock of a SQLite file does. Windows begin and end by the hosts' clocks, so a limit can be exceeded at the edge of a
window by as much as two clocks differ.

    store = await PostgresqlStore.open(Address.of(settings.vault.postgresql))
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import asyncpg

from ..storage.postgresql import Address, PostgresqlLink
from ..storage.postgresql_schema import Schema, open_schema
from .meter import LeaseReturn
from .store import ADD_USAGE, CHECK, HOLD_S, USAGE_COLUMNS, USED, Lease, LeaseRequest, QuotaUnavailable, usage_row
from .usage import UsageRow
from .window import granted

_Result = TypeVar("_Result")
_TABLES = """
CREATE TABLE spent (
    subject text NOT NULL, kind text NOT NULL, slot bigint NOT NULL, amount bigint NOT NULL,
    ends_at double precision NOT NULL, PRIMARY KEY (subject, kind, slot)
);
CREATE TABLE holding (
    subject text NOT NULL, holder text NOT NULL, amount bigint NOT NULL, until double precision NOT NULL,
    PRIMARY KEY (subject, holder)
);
"""
_USED = """
CREATE TABLE used (
    day integer NOT NULL, tenant text NOT NULL, team text NOT NULL, client text NOT NULL, model text NOT NULL,
    upstream text NOT NULL, requests bigint NOT NULL, unmeasured bigint NOT NULL, prompt bigint NOT NULL,
    completion bigint NOT NULL, cost numeric(40) NOT NULL, PRIMARY KEY (day, tenant, team, client, model, upstream)
)
"""
SCHEMA = Schema(
    "sovctl_quotas", "a store of quotas", _TABLES, version=1, lock=0x736F7671, later={"used": _USED}
)  # "sovq"
_GIVE_BACK = (
    "UPDATE spent SET amount = greatest(0, spent.amount - owed.amount) "
    "FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS owed(subject, kind, slot, amount) "
    "WHERE (spent.subject, spent.kind, spent.slot) = (owed.subject, owed.kind, owed.slot)"
)
_TAKEN = (
    "SELECT place, spent.slot, spent.amount "
    "FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY "
    "AS wanted(subject, kind, first, last, place) JOIN spent ON (spent.subject, spent.kind) = "
    "(wanted.subject, wanted.kind) AND spent.slot BETWEEN wanted.first AND wanted.last"
)
_TAKE = (
    "INSERT INTO spent SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], "
    "$5::double precision[]) ON CONFLICT (subject, kind, slot) DO UPDATE SET amount = spent.amount + excluded.amount"
)
_ELSEWHERE = "SELECT coalesce(sum(amount), 0)::bigint FROM holding WHERE subject = $1 AND holder != $2 AND until > $3"
_HOLD = (
    "INSERT INTO holding VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (subject, holder) DO UPDATE SET amount = excluded.amount, until = excluded.until"
)


class PostgresqlStore:
    """See `store.Store`. Created by `open`."""

    def __init__(self, address: Address, *, is_trial: bool = False) -> None:
        self._link = PostgresqlLink(
            address,
            schema=SCHEMA.name,
            failure=QuotaUnavailable,
            hint="requests with limits are refused until it is available",
        )
        self._is_trial = is_trial

    @classmethod
    async def open(cls, address: Address, *, is_trial: bool = False) -> PostgresqlStore:
        """Connect, and create the schema if absent.

        Args:
            is_trial: leases do not count: transactions are rolled back.

        Raises:
            InputError: the schema has another version.
            QuotaUnavailable: the database is unavailable.
        """
        store = cls(address, is_trial=is_trial)
        try:
            await open_schema(store._link, SCHEMA.prepare, version=SCHEMA.version, what=SCHEMA.what)
        except BaseException:
            await store.close()
            raise
        return store

    async def lease(self, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
        """See `Store.lease`."""
        # Returned twice, a lease could be spent twice; taken twice, it is only lost.
        return await self._change(lambda connection: _lease(connection, wants, owed), is_repeatable=not owed)

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        """See `Store.hold`."""

        async def use(connection: asyncpg.Connection[Any]) -> int:
            elsewhere = await connection.fetchval(_ELSEWHERE, subject, holder, now)
            if amount := granted(limit=limit, taken=elsewhere, need=need, wanted=wanted):
                await connection.execute(_HOLD, subject, holder, amount, now + HOLD_S)
            return amount

        return await self._change(use)

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        """See `Store.renew`."""

        async def use(connection: asyncpg.Connection[Any]) -> None:
            await connection.execute("DELETE FROM holding WHERE holder = $1 OR until <= $2", holder, now)
            rows = [(subject, holder, amount, now + HOLD_S) for subject, amount in held.items() if amount]
            await connection.executemany(_HOLD, rows)
            await connection.execute("DELETE FROM spent WHERE ends_at <= $1", now)

        await self._change(use)

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        """See `Store.used`."""
        rows = await self._link.run(lambda connection: connection.fetch(USED.replace("?", "$1"), now))
        return sorted((subject, kind, slot, int(amount)) for subject, kind, slot, amount in rows)

    async def add_usage(self, rows: Sequence[UsageRow], *, oldest: int) -> None:
        """See `Store.add_usage`."""

        async def use(connection: asyncpg.Connection[Any]) -> None:
            values = ", ".join(f"${number}" for number in range(1, len(USAGE_COLUMNS) + 1))
            # In one order in all processes, so that two transactions do not wait for each other.
            await connection.executemany(ADD_USAGE.format(values=values), sorted((*key, *sums) for key, sums in rows))
            await connection.execute("DELETE FROM used WHERE day < $1", oldest)

        await self._change(use, is_repeatable=False)

    async def usage(self, first: int, last: int) -> list[UsageRow]:
        """See `Store.usage`."""
        statement = f"SELECT {', '.join(USAGE_COLUMNS)} FROM used WHERE day BETWEEN $1 AND $2"  # noqa: S608 - constants
        rows = await self._link.run(lambda connection: connection.fetch(statement, first, last))
        return sorted(usage_row(tuple(row)) for row in rows)

    async def check(self) -> None:
        """See `Store.check`."""

        async def write(connection: asyncpg.Connection[Any]) -> None:
            for statement in CHECK:
                await connection.execute(statement)

        await self._change(write)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._link.close()

    async def _change(
        self, use: Callable[[asyncpg.Connection[Any]], Awaitable[_Result]], *, is_repeatable: bool = True
    ) -> _Result:
        async def alone(connection: asyncpg.Connection[Any]) -> _Result:
            transaction = connection.transaction()
            await transaction.start()
            try:
                await SCHEMA.alone(connection)
                done = await use(connection)
            except BaseException:
                await transaction.rollback()
                raise
            await (transaction.rollback() if self._is_trial else transaction.commit())
            return done

        return await self._link.run(alone, is_repeatable=is_repeatable)


async def _lease(
    connection: asyncpg.Connection[Any], wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]
) -> list[Lease]:
    if owed:
        lease_returns: Counter[tuple[str, str, int]] = Counter()
        for each in owed:
            lease_returns[each.subject, each.kind, each.slot] += each.amount
        await connection.execute(_GIVE_BACK, *_columns([(*place, amount) for place, amount in lease_returns.items()]))
    if not wants:
        return []
    places = [(want.subject, want.kind, want.window.first(want.slot), want.slot) for want in wants]
    taken: dict[int, dict[int, int]] = defaultdict(dict)
    for place, slot, amount in await connection.fetch(_TAKEN, *_columns(places)):
        taken[place][slot] = amount
    leases, rows = [], []
    for place, want in enumerate(wants, start=1):
        slots = taken[place]
        amount = granted(limit=want.limit, taken=sum(slots.values()), need=want.need, wanted=want.wanted)
        if amount:
            slots[want.slot] = slots.get(want.slot, 0) + amount
            rows.append((want.subject, want.kind, want.slot, amount, want.window.free_at(want.slot)))
        leases.append(Lease(amount, slots))
    if rows:
        await connection.execute(_TAKE, *_columns(rows))
    return leases


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
