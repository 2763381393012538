"""The tables of the queue of hand-offs: what the queue needs of them, and their schema.

`sqlite_tables` stores them in a file of one host, `postgresql_tables` in a database for several hosts. Both take the
same statements, with `$1` for values. `change` runs one durable transaction at a time.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..storage.errors import StorageFailed

Step = tuple[str, tuple[Any, ...]]
"""A statement and its values."""

CASE_COLUMNS = {
    **dict.fromkeys(("id", "request_id", "owner", "tenant", "model", "surface", "conversation"), "text"),
    "key_version": "integer",
    **dict.fromkeys(("reasons", "counts"), "text"),
    **dict.fromkeys(("made_at", "expires_at"), "bigint"),
    "state": "text",
    "taken_at": "bigint",
    "taken_by": "text",
    "resolved_at": "bigint",
    "answer": "text",
}
"""Columns of the table `cases`: name and type."""
_MAY_BE_NULL = frozenset({"taken_at", "taken_by", "resolved_at", "answer"})
_CASES = ", ".join(
    f"{name} {kind}{' PRIMARY KEY' if name == 'id' else '' if name in _MAY_BE_NULL else ' NOT NULL'}"
    for name, kind in CASE_COLUMNS.items()
)
SCHEMA = f"""
CREATE TABLE cases ({_CASES});
CREATE INDEX cases_by_state ON cases (state, made_at);
CREATE INDEX cases_by_end ON cases (expires_at);
CREATE TABLE outbox (case_id text PRIMARY KEY, attempts integer NOT NULL, next_at double precision NOT NULL);
CREATE TABLE duty (id integer PRIMARY KEY CHECK (id = 1), holder text NOT NULL, until double precision NOT NULL);
"""
VERSION = 1


class QueueFailed(StorageFailed):
    """The queue cannot be read or written."""


class Tables(Protocol):
    """The tables of one queue."""

    where: str
    """File or database, for messages."""

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of one statement.

        Raises:
            QueueFailed: the queue cannot be read.
        """

    async def change(self, *steps: Step) -> list[int]:
        """Run statements in one transaction, and return the number of rows that each changed.

        Raises:
            QueueFailed: the transaction is not durable.
        """

    async def close(self) -> None:
        """Close the file or the connection."""
