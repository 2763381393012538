"""One connection to a vault's SQLite file: statements and errors. Used by one thread; see `sqlite_store`.

Several processes of one host may open the same file: WAL, `BEGIN IMMEDIATE`, a busy timeout. synchronous=FULL makes
a commit durable; secure_delete overwrites removed rows. The file's identity is checked before each use, because SQLite
would continue to write to a file that was moved or replaced.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from sovctl.support.errors import InputError

from ..encryption.errors import VaultFailed, WrappingKeyRetired
from .rows import Counts, KeyRow, RingRewrap, Row
from .sqlite_schema import prepare, transaction
from .store import Batch

BUSY_TIMEOUT_S = 1.0  # a commit of another process takes about 1 ms (measured, ext4 on NVMe, 2026-11); a backup, less
_PAUSE_S = 0.01
_COLUMNS = "conversation, seq, tenant, key_version, generation, expires_at, wrapping_key, keys, subjects, sealed"
_INSERT = f"INSERT OR IGNORE INTO pieces ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_IS_CURRENT = "SELECT 1 FROM keys WHERE id = ? AND NOT is_retired"
_MAX_BATCH = 32  # conversations that begin with one statement; one prepared statement per number
_LIVING = "conversation = ? AND seq = 0 AND generation = ? AND keys IS NOT NULL AND expires_at > ?"
_EXTEND = f"UPDATE pieces SET expires_at = max(expires_at, ?) WHERE {_LIVING}"  # noqa: S608


_CONVERSATIONS = (
    "SELECT key_version, count(*) FROM pieces WHERE seq = 0 AND keys IS NOT NULL AND expires_at > ? GROUP BY 1"
)
_PIECES = "SELECT wrapping_key, count(*) FROM pieces WHERE wrapping_key > 0 GROUP BY 1"


class SqliteFile:
    """One open file. Not thread-safe.

    Args:
        path: created if absent.
        busy_timeout_s: how long to wait for another process that writes.

    Raises:
        InputError: not a vault, or the file cannot be opened.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        try:
            # Opened in one thread, then used in one other thread only.
            self._database = sqlite3.connect(
                path, isolation_level=None, timeout=busy_timeout_s, check_same_thread=False
            )
            prepare(self._database, path, busy_timeout_s=busy_timeout_s)
            self._file = _identity(path)
        except sqlite3.Error as error:
            self.close()
            raise InputError(
                f"the vault cannot be opened: {_reason(error)}",
                where=str(path),
                hint="is the folder writable for this user?",
            ) from error
        except BaseException:
            self.close()
            raise

    def write(self, batch: Batch) -> set[bytes]:
        """See `Store.write`. A batch that only reads also takes the write lock, so that a stalled vault blocks
        requests."""
        if 0 < len(batch.begin) <= _MAX_BATCH and not (batch.grow or batch.revive):
            with self.reading() as database:
                if _begin_at_once(database, batch):
                    return set()
        with self.writing() as database:
            require_current(database, batch.wrapping_key)
            return _begin(database, batch) | _grow(database, batch) | _revive(database, batch)

    def read(self, conversations: Sequence[bytes]) -> list[Row]:
        """See `Store.read`."""
        select = f"SELECT {_COLUMNS} FROM pieces WHERE conversation = ? ORDER BY seq"  # noqa: S608
        with self.reading() as database:
            return [Row._make(row) for each in sorted(conversations) for row in database.execute(select, (each,))]

    def purge(self, now: int, *, tombstone_s: int, limit: int) -> int:
        """See `Store.purge`."""
        with self.writing() as database:
            expired = database.execute(
                "SELECT conversation, generation > 0 AND keys IS NOT NULL FROM pieces "
                "WHERE seq = 0 AND expires_at <= ? LIMIT ?",
                (now, limit),
            ).fetchall()
            gone = [(conversation,) for conversation, was_erased in expired if not was_erased]
            database.executemany("DELETE FROM pieces WHERE conversation = ?", gone)
            empty(database, [conversation for conversation, was_erased in expired if was_erased], now + tombstone_s, 0)
            return len(expired)

    def forget_copies(self) -> None:
        """See `Store.forget_copies`: empties the write-ahead log. In the file, secure_delete overwrote the rows."""
        until = time.monotonic() + self._busy_timeout_s
        while self._is_log_in_use():
            if time.monotonic() > until:
                raise VaultFailed(
                    "the write-ahead log cannot be emptied, because another process reads it",
                    where=str(self._path),
                    hint="try again after a running backup has finished",
                )
            time.sleep(_PAUSE_S)  # SQLite waits for readers, but not for other processes that copy the log

    def _is_log_in_use(self) -> bool:
        with self.reading() as database:
            return bool(database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    def keys(self) -> list[KeyRow]:
        """See `Store.keys`."""
        with self.reading() as database:
            rows = database.execute("SELECT id, purpose, kek, wrapped, created_at, is_retired FROM keys ORDER BY id")
            return [KeyRow._make((*row[:5], bool(row[5]))) for row in rows]

    def add_keys(self, keys: Sequence[KeyRow], *, after: int | None) -> bool:
        """See `Store.add_keys`."""
        with self.writing() as database:
            current = database.execute("SELECT max(id) FROM keys WHERE purpose = 'wrap' AND NOT is_retired").fetchone()
            if current[0] != after:
                return False
            database.execute("UPDATE keys SET is_retired = 1 WHERE purpose = 'wrap'")
            database.executemany(
                "INSERT INTO keys (purpose, kek, wrapped, created_at, is_retired) VALUES (?, ?, ?, ?, 0)",
                [(key.purpose, key.kek, key.wrapped, key.created_at) for key in keys],
            )
            return True

    def wrap_again(self, key: KeyRow, seen_wrapped: bytes) -> bool:
        """See `Store.wrap_again`."""
        with self.writing() as database:
            update = "UPDATE keys SET kek = ?, wrapped = ? WHERE id = ? AND wrapped = ?"
            return database.execute(update, (key.kek, key.wrapped, key.id, seen_wrapped)).rowcount == 1

    def remove_keys(self) -> list[int]:
        """See `Store.remove_keys`."""
        with self.writing() as database:
            rows = database.execute(
                "DELETE FROM keys WHERE purpose = 'wrap' AND is_retired AND id NOT IN "
                "(SELECT wrapping_key FROM pieces WHERE wrapping_key = keys.id AND wrapping_key > 0) RETURNING id"
            ).fetchall()
            return sorted(key_id for (key_id,) in rows)

    def stale(self, wrapping_key: int, *, limit: int) -> list[Row]:
        """See `Store.stale`."""
        select = (
            f"SELECT {_COLUMNS} FROM pieces WHERE wrapping_key > 0 AND wrapping_key < ? "  # noqa: S608
            "ORDER BY wrapping_key LIMIT ?"
        )
        with self.reading() as database:
            return [Row._make(row) for row in database.execute(select, (wrapping_key, limit))]

    def count_stale(self, wrapping_key: int) -> int:
        """See `Store.count_stale`."""
        select = "SELECT count(*) FROM pieces WHERE wrapping_key > 0 AND wrapping_key < ?"
        with self.reading() as database:
            return int(database.execute(select, (wrapping_key,)).fetchone()[0])

    def rewrite(self, changes: Sequence[RingRewrap], *, wrapping_key: int) -> int:
        """See `Store.rewrite`."""
        update = (
            "UPDATE pieces SET wrapping_key = ?, keys = ?, subjects = ?, sealed = ? "
            "WHERE conversation = ? AND seq = ? AND keys = ?"
        )
        with self.writing() as database:
            require_current(database, wrapping_key)
            return database.executemany(
                update, [(*row[6:], row.conversation, row.seq, seen_keys) for row, seen_keys in changes]
            ).rowcount

    def counts(self, now: int) -> Counts:
        """See `Store.counts`."""
        with self.reading() as database:
            return Counts(dict(database.execute(_CONVERSATIONS, (now,))), dict(database.execute(_PIECES)))

    def check(self, now: int) -> None:
        """See `Store.check`."""
        with self.writing() as database:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('checked_at', ?)", (str(now),))

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; its errors are raised as `VaultFailed`."""
        database = self._open()
        try:
            yield database
        except sqlite3.Error as error:
            raise self._failed(error) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, which is durable after the context, or rolled back."""
        with self.reading() as database, transaction(database):
            yield database

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            raise VaultFailed("the vault is closed", where=str(self._path))
        if self._file is not None and _identity(self._path) != self._file:
            raise VaultFailed(
                "the vault's file was removed or replaced",
                where=str(self._path),
                hint="restore the file; no tokenized request is sent until then",
            )
        return self._database

    def _failed(self, error: sqlite3.Error) -> VaultFailed:
        return VaultFailed(
            f"the vault is unreadable or unwritable: {_reason(error)}",
            where=str(self._path),
            hint="free space on that disk; no tokenized request is sent until then",
        )


def require_current(database: sqlite3.Connection, wrapping_key: int) -> None:
    """Check that `wrapping_key` is the current one.

    Raises:
        WrappingKeyRetired: it is not.
    """
    if database.execute(_IS_CURRENT, (wrapping_key,)).fetchone() is None:
        raise WrappingKeyRetired


def _bound(row: Row) -> tuple[object, ...]:
    """Return a row as `bytearray`, because sqlite3 looks up an adapter for each `bytes` (1 us each)."""
    return tuple([bytearray(value) if type(value) is bytes else value for value in row])


@lru_cache(maxsize=_MAX_BATCH)
def _insert_all(count: int) -> str:
    rows = ", ".join([f"({', '.join('?' * len(Row._fields))})"] * count)
    rows = f"SELECT * FROM (VALUES {rows}) WHERE EXISTS ({_IS_CURRENT})"  # noqa: S608
    return f"INSERT OR IGNORE INTO pieces ({_COLUMNS}) {rows}"


def _begin_at_once(database: sqlite3.Connection, batch: Batch) -> bool:
    """Write new conversations in a transaction of one statement, which takes half the time of four statements.

    Returns:
        True if all rows were written; False if a row conflicts, so the caller must use the slower path.
    """
    values = [value for row in batch.begin for value in _bound(row)]
    inserted = database.execute(_insert_all(len(batch.begin)), (*values, batch.wrapping_key)).rowcount
    return inserted == len(batch.begin)


def _begin(database: sqlite3.Connection, batch: Batch) -> set[bytes]:
    if database.executemany(_INSERT, map(_bound, batch.begin)).rowcount == len(batch.begin):
        return set()
    found = "SELECT keys FROM pieces WHERE conversation = ? AND seq = 0"
    return {
        row.conversation
        for row in batch.begin
        if database.execute(found, (row.conversation,)).fetchone()[0] != row.keys
    }


def _is_living(database: sqlite3.Connection, head: tuple[bytes, int, int]) -> bool:
    return database.execute(f"SELECT 1 FROM pieces WHERE {_LIVING}", head).fetchone() is not None  # noqa: S608


def _grow(database: sqlite3.Connection, batch: Batch) -> set[bytes]:
    conflicts: set[bytes] = set()
    for conversation, generation, expires_at, row in batch.grow:
        living = (conversation, generation, batch.now)
        if expires_at is None:
            is_there = _is_living(database, living)
        else:
            is_there = database.execute(_EXTEND, (expires_at, *living)).rowcount == 1
        if not is_there or (row is not None and not database.execute(_INSERT, _bound(row)).rowcount):
            conflicts.add(conversation)
    return conflicts


def _revive(database: sqlite3.Connection, batch: Batch) -> set[bytes]:
    conflicts: set[bytes] = set()
    for row, seen_generation, seen_expires_at in batch.revive:
        changed = database.execute(
            "UPDATE pieces SET tenant = ?, key_version = ?, generation = ?, expires_at = ?, wrapping_key = ?, "
            "keys = ?, subjects = ?, sealed = ? "
            "WHERE conversation = ? AND seq = 0 AND generation = ? AND expires_at = ?",
            (*row[2:], row.conversation, seen_generation, seen_expires_at),
        ).rowcount
        if changed:
            database.execute("DELETE FROM pieces WHERE conversation = ? AND seq > 0", (row.conversation,))
        else:
            conflicts.add(row.conversation)
    return conflicts


def empty(database: sqlite3.Connection, conversations: Sequence[bytes], until: int, generations: int) -> None:
    """Delete these conversations except their heads, which store the generation."""
    parameters = [(conversation,) for conversation in conversations]
    database.executemany("DELETE FROM pieces WHERE conversation = ? AND seq > 0", parameters)
    database.executemany(
        "UPDATE pieces SET wrapping_key = 0, keys = NULL, subjects = NULL, sealed = NULL, "
        "generation = generation + ?, expires_at = ? "
        "WHERE conversation = ? AND keys IS NOT NULL",
        [(generations, until, conversation) for conversation in conversations],
    )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it is absent."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _reason(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or type(error).__name__
