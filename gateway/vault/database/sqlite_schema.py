"""Schema of a vault's SQLite file: creates it, upgrades it, rejects other files.

A file of version 2 gets the table of erasures; older versions are rejected.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sovctl.support.errors import InputError

from ...storage.sqlite import keep_log

# Pages of 4 KiB in the write-ahead log before they are copied into the file. A larger log combines more changes of a
# page: at 16 new conversations a commit, 4000 costs 17 % less CPU than SQLite's 1000 (measured, 2026-11).
_CHECKPOINT_PAGES = 4000
_APPLICATION_ID = 0x736F7663  # "sovc", by which `file` and the gateway recognize a vault
_SCHEMA_VERSION = 3
_SCHEMA = """
CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, purpose TEXT NOT NULL, kek TEXT NOT NULL, wrapped BLOB NOT NULL,
    created_at INTEGER NOT NULL, is_retired INTEGER NOT NULL
);
CREATE TABLE pieces (
    conversation BLOB NOT NULL, seq INTEGER NOT NULL, tenant BLOB NOT NULL, key_version INTEGER NOT NULL,
    generation INTEGER NOT NULL, expires_at INTEGER NOT NULL, wrapping_key INTEGER NOT NULL,
    keys BLOB, subjects BLOB, sealed BLOB
);
CREATE UNIQUE INDEX pieces_by_place ON pieces (conversation, seq);
CREATE INDEX heads_by_expiry ON pieces (expires_at) WHERE seq = 0;
CREATE INDEX pieces_by_wrapping_key ON pieces (wrapping_key) WHERE wrapping_key > 0;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_ERASURES = """
CREATE TABLE erasures (
    id TEXT PRIMARY KEY, begun_at INTEGER NOT NULL, by_whom TEXT NOT NULL, scope TEXT NOT NULL,
    scope_digest TEXT NOT NULL, conversations INTEGER NOT NULL, rings INTEGER NOT NULL, data_keys INTEGER NOT NULL,
    destroyed_sha256 TEXT NOT NULL, wrapping_keys INTEGER NOT NULL, is_complete INTEGER NOT NULL,
    seen_at INTEGER NOT NULL, claimed_until INTEGER NOT NULL DEFAULT 0, is_recorded INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""


def prepare(database: sqlite3.Connection, path: Path, *, busy_timeout_s: float) -> None:
    """Configure a connection, and create or upgrade the vault.

    Raises:
        InputError: not a vault, or a vault of another version.
    """
    is_new = not database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    if not is_new and database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise InputError("not a vault, but another SQLite database", where=str(path))
    keep_log(database, busy_s=busy_timeout_s)
    for pragma in (
        "synchronous = FULL",
        "secure_delete = ON",
        "temp_store = MEMORY",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
    ):
        database.execute(f"PRAGMA {pragma}").fetchall()
    if is_new:
        # Another process may create the same vault concurrently; the second one finds it.
        with transaction(database):
            if not database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
                for statement in filter(str.strip, [*_SCHEMA.split(";"), _ERASURES]):
                    database.execute(statement)
                database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    with transaction(database):  # the previous version differs only by the missing table of erasures
        if database.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA_VERSION - 1:
            database.execute(_ERASURES)
            database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version != _SCHEMA_VERSION:
        raise InputError(
            f"expected vault version {_SCHEMA_VERSION}, got {version}",
            where=str(path),
            hint="move it to another folder; a new vault is created, and tokens of the old one are not restored",
        )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit the statements of the context, or roll them back. Waits for the write lock."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
