"""The queue of hand-offs, of one host or of several. Committed changes survive kill -9.

    cases       one row per hand-off: ids, codes, counts, times
    outbox      pending calls of the webhook
    duty        the worker that calls the webhook, and until when; a dead worker loses it after `WEBHOOK_LEASE_S`

The tables are in a file of this host, or in the database of the vault, which several hosts share; see `tables`. The
statements are the same for both.

    queue = await open_queue(settings)
    await queue.add(case, most_open=1000, tell=True)
    await queue.take(case.id, by="ops", now=...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ..settings import GatewaySettings
from .case import HandoffCase, State
from .open_tables import open_tables
from .tables import CASE_COLUMNS, Tables

WEBHOOK_LEASE_S = 10.0
"""More than twice the timeout of a webhook call, and the longest delay when a worker dies."""
_COLUMNS = ", ".join(CASE_COLUMNS)
_OPEN = "state IN ('waiting', 'taken')"
_OPEN_CASES = f"SELECT count(*) FROM cases WHERE {_OPEN}"  # noqa: S608 - built from constants, as all below
_NEW = ", ".join(f"CAST(${place} AS {kind})" for place, kind in enumerate(CASE_COLUMNS.values(), start=1))
_ADD = f"INSERT INTO cases ({_COLUMNS}) SELECT {_NEW} WHERE ({_OPEN_CASES}) < ${len(CASE_COLUMNS) + 1}"
_TAKE = (
    "UPDATE cases SET state = 'taken', taken_at = $1, taken_by = $2, "
    "expires_at = CASE WHEN expires_at > $3 THEN expires_at ELSE $3 END WHERE id = $4 AND state = 'waiting'"
)
_RESOLVE = (
    "UPDATE cases SET state = 'resolved', resolved_at = $1, taken_by = $2, answer = $3, "
    "expires_at = CASE WHEN expires_at > $4 THEN expires_at ELSE $4 END "
    "WHERE id = $5 AND state != 'resolved' AND (taken_by IS NULL OR taken_by = $2)"
)
_DELETE_CALLS = "DELETE FROM outbox WHERE case_id IN (SELECT id FROM cases WHERE id = $1 AND state = 'resolved')"
_COUNTS = (
    f"SELECT ({_OPEN_CASES}), (SELECT min(made_at) FROM cases WHERE state = 'waiting'), "  # noqa: S608
    "(SELECT min(made_at) FROM cases JOIN outbox ON id = case_id WHERE attempts > 0)"
)
_TAKE_WEBHOOK_LEASE = (
    "INSERT INTO duty VALUES (1, $1, $2) ON CONFLICT (id) DO UPDATE "
    "SET holder = excluded.holder, until = excluded.until WHERE duty.holder = $1 OR duty.until <= $3"
)
_DUE = (
    f"SELECT {_COLUMNS}, attempts FROM cases JOIN outbox ON id = case_id "  # noqa: S608
    "WHERE next_at <= $1 ORDER BY next_at LIMIT $2"
)


class QueueFull(Exception):
    """The number of open hand-offs has reached its limit."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers for monitoring the queue."""

    open: int
    oldest_waiting: int | None
    """Creation time of the oldest waiting hand-off; None if none waits."""
    failing_since: int | None
    """Creation time of the oldest hand-off with a failed webhook call; None if none failed."""


@dataclass(frozen=True, slots=True)
class Due:
    """A hand-off whose webhook call is due."""

    case: HandoffCase
    attempts: int


class Queue:
    """A queue of hand-offs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def where(self) -> str:
        """File or database, for messages."""
        return self._tables.where

    async def add(self, case: HandoffCase, *, most_open: int, tell: bool) -> None:
        """Add a hand-off, durably.

        Args:
            tell: call the webhook, too.

        Raises:
            QueueFull: `most_open` hand-offs are open; none was added.
            QueueFailed: it is not durable.
        """
        steps: list[tuple[str, tuple[Any, ...]]] = [(_ADD, (*_values(case), most_open))]
        if tell:
            steps.append(("INSERT INTO outbox SELECT id, 0, made_at FROM cases WHERE id = $1", (case.id,)))
        if not (await self._tables.change(*steps))[0]:
            raise QueueFull

    async def is_full(self, most_open: int) -> bool:
        """Return whether `most_open` hand-offs are open."""
        [(count,)] = await self._tables.rows(_OPEN_CASES)
        return int(count) >= most_open

    async def get(self, case_id: str) -> HandoffCase | None:
        """Return a hand-off; None if it does not exist or was deleted."""
        rows = await self._tables.rows(f"SELECT {_COLUMNS} FROM cases WHERE id = $1", case_id)  # noqa: S608
        return _case(rows[0]) if rows else None

    async def open_cases(self, *, most: int) -> list[HandoffCase]:
        """Return the hand-offs that wait or are taken, oldest first."""
        select = f"SELECT {_COLUMNS} FROM cases WHERE {_OPEN} ORDER BY made_at, id LIMIT $1"  # noqa: S608
        return [_case(row) for row in await self._tables.rows(select, most)]

    async def all_cases(self) -> list[HandoffCase]:
        """Return every hand-off, oldest first."""
        return [_case(row) for row in await self._tables.rows(f"SELECT {_COLUMNS} FROM cases ORDER BY made_at, id")]  # noqa: S608

    async def delete(self, case_ids: Sequence[str]) -> int:
        """Delete hand-offs and their webhook calls in one transaction, and return their number.

        Raises:
            QueueFailed: none was deleted.
        """
        steps = [
            (f"DELETE FROM {table} WHERE {column} = $1", (each,))  # noqa: S608
            for each in case_ids
            for table, column in (("outbox", "case_id"), ("cases", "id"))
        ]
        return sum((await self._tables.change(*steps))[1::2])

    async def take(self, case_id: str, *, by: str, now: int, expires_at: int) -> bool:
        """Assign a waiting hand-off to an operator. Return False if it does not wait."""
        return await self._tables.change((_TAKE, (now, by, expires_at, case_id))) == [1]

    async def resolve(self, case_id: str, *, by: str, answer: str | None, now: int, expires_at: int) -> bool:
        """Resolve a hand-off. Return False if it is not open, or is assigned to another operator.

        Args:
            answer: name of the answer in the vault; None without one.
        """
        changed = await self._tables.change(
            (_RESOLVE, (now, by, answer, expires_at, case_id)),
            (_DELETE_CALLS, (case_id,)),
        )
        return changed[0] == 1

    async def expired(self, *, now: int) -> list[HandoffCase]:
        """Return the expired hand-offs."""
        select = f"SELECT {_COLUMNS} FROM cases WHERE expires_at <= $1"  # noqa: S608
        return [_case(row) for row in await self._tables.rows(select, now)]

    async def forget(self, *, now: int) -> None:
        """Delete the expired hand-offs."""
        await self._tables.change(
            ("DELETE FROM outbox WHERE case_id IN (SELECT id FROM cases WHERE expires_at <= $1)", (now,)),
            ("DELETE FROM cases WHERE expires_at <= $1", (now,)),
        )

    async def counts(self) -> Counts:
        """Return numbers for monitoring the queue."""
        return Counts(*(await self._tables.rows(_COUNTS))[0])

    async def holds_webhook_lease(self, holder: str, *, now: float) -> bool:
        """Return whether this worker calls the webhook. Writes only to take or extend the duty."""
        for found, until in await self._tables.rows("SELECT holder, until FROM duty"):
            if until > now and found != holder:
                return False
            if until - now > WEBHOOK_LEASE_S / 2:
                return True
        return await self._tables.change((_TAKE_WEBHOOK_LEASE, (holder, now + WEBHOOK_LEASE_S, now))) == [1]

    async def release_webhook_lease(self, holder: str) -> None:
        """Release the duty, so that another worker can take it immediately."""
        await self._tables.change(("DELETE FROM duty WHERE holder = $1", (holder,)))

    async def due(self, *, now: float, most: int) -> list[Due]:
        """Return due webhook calls, longest due first."""
        return [Due(_case(row[:-1]), row[-1]) for row in await self._tables.rows(_DUE, now, most)]

    async def delivered(self, case_id: str) -> None:
        """Delete a webhook call that succeeded."""
        await self._tables.change(("DELETE FROM outbox WHERE case_id = $1", (case_id,)))

    async def failed(self, case_id: str, *, next_at: float) -> None:
        """Schedule a webhook call again after it failed."""
        update = "UPDATE outbox SET attempts = attempts + 1, next_at = $1 WHERE case_id = $2"
        await self._tables.change((update, (next_at, case_id)))

    async def close(self) -> None:
        """Close the file or the connection."""
        await self._tables.close()


async def open_queue(settings: GatewaySettings) -> Queue:
    """Open the queue of the settings, and create it if absent.

    Raises:
        InputError: the file or schema cannot be opened, or is not a queue of hand-offs.
        QueueFailed: the database does not answer.
    """
    return Queue(await open_tables(settings))


def _values(case: HandoffCase) -> tuple[Any, ...]:
    return (
        *(case.id, case.request_id, case.owner, case.tenant, case.model, case.surface, case.conversation),
        *(case.key_version, orjson.dumps(case.reasons).decode(), orjson.dumps(dict(case.counts)).decode()),
        *(case.made_at, case.expires_at, case.state.value, case.taken_at, case.taken_by, case.resolved_at),
        case.answer,
    )


def _case(row: tuple[Any, ...]) -> HandoffCase:
    fields = dict(zip(CASE_COLUMNS, row, strict=True))
    reasons: list[str] = orjson.loads(fields.pop("reasons"))
    counts: Mapping[str, int] = orjson.loads(fields.pop("counts"))
    return HandoffCase(**fields | {"reasons": tuple(reasons), "counts": counts, "state": State(fields["state"])})
