"""Errors of the store, without the server's messages, which may quote text of documents."""

from __future__ import annotations

import asyncpg

from sovctl.support.errors import SovctlError

from ...storage.errors import StorageFailed


class DatabaseUnavailable(StorageFailed):
    """The database does not answer, or refused a statement. The service answers 503."""


class ClaimRefused(DatabaseUnavailable):
    """The database refused the claim: another key, another database, or a clock that differs."""


class UnknownCollection(SovctlError):
    """The database has no such collection, or no vectors of the model in it."""


def reason(error: BaseException) -> str:
    """Return the cause as a type and SQLSTATE or the system's words."""
    if isinstance(error, asyncpg.PostgresError):
        return f"{type(error).__name__} (SQLSTATE {error.sqlstate})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
