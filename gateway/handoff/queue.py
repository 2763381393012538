"""The hand-offs that wait for a person, of one host or of several. What was committed survives kill -9.

    cases       one row a hand-off: ids, codes, counts, times
    outbox      what the webhook is still to be told
    duty        which worker tells it, and until when: a worker that dies loses that in `DUTY_S`

Where the tables are, `tables` says: a file of this host, or the database in which the hosts also share their vault.
Statements are written once and mean the same in both.

    queue = await open_queue(settings)
    await queue.add(case, most_open=1000, tell=True)
    await queue.take(case.id, by="ops", now=...)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ..settings import GatewaySettings
from .case import HandoffCase, State
from .open_tables import open_tables
from .tables import CASE_COLUMNS, Tables

DUTY_S = 10.0
"""Longer than a webhook may take to answer twice over, shorter than anybody would notice."""
_COLUMNS = ", ".join(CASE_COLUMNS)
_OPEN = "state IN ('waiting', 'taken')"
_OPEN_CASES = f"SELECT count(*) FROM cases WHERE {_OPEN}"  # noqa: S608 - made of our own constants, as all below
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
_HEARD_ENOUGH = "DELETE FROM outbox WHERE case_id IN (SELECT id FROM cases WHERE id = $1 AND state = 'resolved')"
_CENSUS = (
    f"SELECT ({_OPEN_CASES}), (SELECT min(made_at) FROM cases WHERE state = 'waiting'), "  # noqa: S608
    "(SELECT min(made_at) FROM cases JOIN outbox ON id = case_id WHERE attempts > 0)"
)
_BE_ON_DUTY = (
    "INSERT INTO duty VALUES (1, $1, $2) ON CONFLICT (id) DO UPDATE "
    "SET holder = excluded.holder, until = excluded.until WHERE duty.holder = $1 OR duty.until <= $3"
)
_DUE = (
    f"SELECT {_COLUMNS}, attempts FROM cases JOIN outbox ON id = case_id "  # noqa: S608
    "WHERE next_at <= $1 ORDER BY next_at LIMIT $2"
)


class QueueFull(Exception):
    """As many hand-offs are open as may be."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How the queue stands."""

    open: int
    oldest_waiting: int | None
    """When it was made; None when none waits."""
    unheard_since: int | None
    """Since when the webhook does not hear of the oldest hand-off that it was told of in vain."""


@dataclass(frozen=True, slots=True)
class Due:
    """A hand-off of which the webhook is to be told now."""

    case: HandoffCase
    attempts: int


class Queue:
    """One queue."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def where(self) -> str:
        """The file or the database."""
        return self._tables.where

    async def add(self, case: HandoffCase, *, most_open: int, tell: bool) -> None:
        """Put a hand-off in the queue; durable when this returns.

        Args:
            tell: the webhook, too.

        Raises:
            QueueFull: nothing was added.
            QueueFailed: not durable.
        """
        steps: list[tuple[str, tuple[Any, ...]]] = [(_ADD, (*_values(case), most_open))]
        if tell:
            steps.append(("INSERT INTO outbox SELECT id, 0, made_at FROM cases WHERE id = $1", (case.id,)))
        if not (await self._tables.change(*steps))[0]:
            raise QueueFull

    async def is_full(self, most_open: int) -> bool:
        """True when nothing can be added now."""
        [(count,)] = await self._tables.rows(_OPEN_CASES)
        return int(count) >= most_open

    async def get(self, case_id: str) -> HandoffCase | None:
        """A hand-off that is not forgotten."""
        rows = await self._tables.rows(f"SELECT {_COLUMNS} FROM cases WHERE id = $1", case_id)  # noqa: S608
        return _case(rows[0]) if rows else None

    async def open_cases(self, *, most: int) -> list[HandoffCase]:
        """Those that wait or are taken, the oldest first."""
        select = f"SELECT {_COLUMNS} FROM cases WHERE {_OPEN} ORDER BY made_at, id LIMIT $1"  # noqa: S608
        return [_case(row) for row in await self._tables.rows(select, most)]

    async def take(self, case_id: str, *, by: str, now: int, expires_at: int) -> bool:
        """Give a waiting hand-off to an operator; False when it does not wait."""
        return await self._tables.change((_TAKE, (now, by, expires_at, case_id))) == [1]

    async def resolve(self, case_id: str, *, by: str, answer: str | None, now: int, expires_at: int) -> bool:
        """End a hand-off; False when it is no longer open, or another operator has it.

        Args:
            answer: what the vault calls it.
        """
        changed = await self._tables.change(
            (_RESOLVE, (now, by, answer, expires_at, case_id)),
            (_HEARD_ENOUGH, (case_id,)),
        )
        return changed[0] == 1

    async def expired(self, *, now: int) -> list[HandoffCase]:
        """What can no longer be read."""
        select = f"SELECT {_COLUMNS} FROM cases WHERE expires_at <= $1"  # noqa: S608
        return [_case(row) for row in await self._tables.rows(select, now)]

    async def forget(self, *, now: int) -> None:
        """Remove what has expired."""
        await self._tables.change(
            ("DELETE FROM outbox WHERE case_id IN (SELECT id FROM cases WHERE expires_at <= $1)", (now,)),
            ("DELETE FROM cases WHERE expires_at <= $1", (now,)),
        )

    async def census(self) -> Counts:
        """How the queue stands."""
        return Counts(*(await self._tables.rows(_CENSUS))[0])

    async def is_on_duty(self, holder: str, *, now: float) -> bool:
        """True when this worker is the one that tells the webhook; it writes only when that changes or ends soon."""
        for found, until in await self._tables.rows("SELECT holder, until FROM duty"):
            if until > now and found != holder:
                return False
            if until - now > DUTY_S / 2:
                return True
        return await self._tables.change((_BE_ON_DUTY, (holder, now + DUTY_S, now))) == [1]

    async def leave_duty(self, holder: str) -> None:
        """Another worker may tell the webhook at once."""
        await self._tables.change(("DELETE FROM duty WHERE holder = $1", (holder,)))

    async def due(self, *, now: float, most: int) -> list[Due]:
        """Of what the webhook is to be told now, the longest due first."""
        return [Due(_case(row[:-1]), row[-1]) for row in await self._tables.rows(_DUE, now, most)]

    async def heard(self, case_id: str) -> None:
        """The webhook has taken it."""
        await self._tables.change(("DELETE FROM outbox WHERE case_id = $1", (case_id,)))

    async def unheard(self, case_id: str, *, next_at: float) -> None:
        """It has not; it is told again."""
        update = "UPDATE outbox SET attempts = attempts + 1, next_at = $1 WHERE case_id = $2"
        await self._tables.change((update, (next_at, case_id)))

    async def close(self) -> None:
        """Let go of the file or the connection."""
        await self._tables.close()


async def open_queue(settings: GatewaySettings) -> Queue:
    """The queue of these settings; made when absent.

    Raises:
        InputError: no file or schema of this kind, or not to be opened.
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
