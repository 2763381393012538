"""The vault's file: schema, sealing, erasure. Used by one thread; `vault` is the door to it.

    conversations   id (digest), data key wrapped under the KEK, time of expiry
    tokens          conversation, token, value sealed under the data key

Sealing is AES-256-GCM (NIST SP 800-38D) with random 96-bit nonces; no conversation comes near the 2^32 values that 8.3
allows a key. Associated data is `purpose, tenant, conversation, token`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sovctl.compliance.errors import InputError, SovctlError
from sovctl.gateway.conversation import Conversation

_NONCE_BYTES = 12  # SP 800-38D 5.2.1.1
_MOST_LOADED = 100_000  # values of one conversation; more stay tokens
_CACHED_KEYS = 4096  # unwrapped data keys kept in memory
_BUSY_TIMEOUT_S = 1.0  # nobody else writes; a backup that reads is quicker than this
_APPLICATION_ID = 0x736F7663  # "sovc", so that `file` and we recognize a vault
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE conversations (id TEXT PRIMARY KEY, wrapped_key BLOB NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX conversations_by_expiry ON conversations (expires_at);
CREATE TABLE tokens (
    conversation TEXT NOT NULL, token TEXT NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (conversation, token)
) WITHOUT ROWID;
"""


class VaultFailed(SovctlError):
    """The vault can't do what was asked. Tokens that are not in it must not leave."""


class VaultFile:
    """One open file. Not for several threads.

    Args:
        path: made when absent.
        kek: key that wraps the data keys, 32 bytes.

    Raises:
        InputError: not a vault, another key, or not to be opened.
    """

    def __init__(self, path: Path, *, kek: bytes, ttl_s: int, clock: Callable[[], float]) -> None:
        self._path = path
        self._wrapper = AESGCM(kek)
        self._ttl_s = ttl_s
        self._clock = clock
        self._keys: dict[
            str, tuple[AESGCM, float]
        ] = {}  # conversation -> data key, and when it expires at the earliest
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        try:
            self._database = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_TIMEOUT_S)
            self._prepare(hmac.digest(kek, b"sovctl vault key check v1", hashlib.sha256))
            self._file = _identity(path)
        except sqlite3.Error as error:
            self.close()
            raise InputError(
                f"expected a vault, got: {_reason(error)}", where=str(path), hint="is the folder writable for us alone?"
            ) from error
        except BaseException:
            self.close()
            raise

    def store(self, batch: Sequence[tuple[Conversation, Mapping[str, str]]]) -> None:
        """Keep several conversations' values in one commit.

        Raises:
            VaultFailed: nothing of it was kept.
        """
        database = self._open()
        now = self._clock()
        try:
            database.execute("BEGIN IMMEDIATE")
            for conversation, values in batch:
                self._store(database, conversation, values, now)
            database.execute("COMMIT")
        except (sqlite3.Error, VaultFailed) as error:
            self._keys.clear()  # some may never have reached the disk
            _rollback(database)
            if isinstance(error, VaultFailed):
                raise
            raise self._failed(error) from error

    def load(self, conversation: Conversation) -> dict[str, str]:
        """Token -> value of one conversation that has not expired."""
        database = self._open()
        try:
            key = self._key(database, conversation, self._clock())
            if key is None:
                return {}
            rows = database.execute(
                "SELECT token, sealed FROM tokens WHERE conversation = ? LIMIT ?", (conversation.key, _MOST_LOADED)
            ).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return {token: self._opened(key, conversation, token, sealed) for token, sealed in rows}

    def erase(self, conversation: Conversation) -> int:
        """Destroy a conversation's key, then its rows, then every copy that SQLite holds of them."""
        database = self._open()
        self._keys.pop(conversation.key, None)
        try:
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM conversations WHERE id = ?", (conversation.key,))
            erased = database.execute("DELETE FROM tokens WHERE conversation = ?", (conversation.key,)).rowcount
            database.execute("COMMIT")
            self._forget_copies(database)
        except sqlite3.Error as error:
            _rollback(database)
            raise self._failed(error) from error
        return erased

    def purge_expired(self) -> int:
        """Erase expired conversations."""
        database = self._open()
        now = self._clock()
        self._keys = {name: entry for name, entry in self._keys.items() if entry[1] > now}
        try:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "DELETE FROM tokens WHERE conversation IN (SELECT id FROM conversations WHERE expires_at <= ?)", (now,)
            )
            purged = database.execute("DELETE FROM conversations WHERE expires_at <= ?", (now,)).rowcount
            database.execute("COMMIT")
            if purged:
                self._forget_copies(database)
        except sqlite3.Error as error:
            _rollback(database)
            raise self._failed(error) from error
        return purged

    def check(self) -> None:
        """Write a row of our own, so that a full or read-only disk is noticed."""
        database = self._open()
        try:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('checked_at', ?)", (str(self._clock()),))
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        if self._database is not None:
            self._database.close()
            self._database = None
        self._keys.clear()

    def _prepare(self, key_check: bytes) -> None:
        database = self._open()
        found = database.execute("PRAGMA application_id").fetchone()[0]
        is_new = found == 0 and not database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        if not is_new and found != _APPLICATION_ID:
            raise InputError("expected a vault, got another SQLite database", where=str(self._path))
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            database.execute(f"PRAGMA {pragma}")
        if is_new:
            database.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {_APPLICATION_ID}; "
                f"PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
            )
            database.execute("INSERT INTO meta VALUES ('key_check', ?)", (key_check,))
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version != _SCHEMA_VERSION:
            raise InputError(f"expected vault version {_SCHEMA_VERSION}, got {version}", where=str(self._path))
        stored = database.execute("SELECT value FROM meta WHERE name = 'key_check'").fetchone()
        if stored is None:  # the first start ended between the schema and this row: nothing can be in it yet
            database.execute("INSERT INTO meta VALUES ('key_check', ?)", (key_check,))
        elif not hmac.compare_digest(stored[0], key_check):
            raise InputError(
                "expected the key this vault was made with, got another",
                where=str(self._path),
                hint="restore kek_file from its backup; without it the values cannot be read",
            )

    def _store(
        self, database: sqlite3.Connection, conversation: Conversation, values: Mapping[str, str], now: float
    ) -> None:
        key = self._key(database, conversation, now)
        if key is None:
            database.execute("DELETE FROM tokens WHERE conversation = ?", (conversation.key,))
            raw = AESGCM.generate_key(256)
            wrapped = _seal(self._wrapper, raw, _context("key", conversation))
            database.execute(
                "INSERT OR REPLACE INTO conversations VALUES (?, ?, ?)", (conversation.key, wrapped, now + self._ttl_s)
            )
            key = self._remember(conversation, raw, now + self._ttl_s)
        else:
            database.execute(
                "UPDATE conversations SET expires_at = ? WHERE id = ?", (now + self._ttl_s, conversation.key)
            )
        for token, value in values.items():
            sealed = _seal(key, value.encode(), _context("token", conversation, token))
            inserted = database.execute(
                "INSERT OR IGNORE INTO tokens VALUES (?, ?, ?)", (conversation.key, token, sealed)
            ).rowcount
            if not inserted and self._stored(database, key, conversation, token) != value:
                raise VaultFailed("expected one spelling for each token, got a second one", where=str(self._path))

    def _stored(self, database: sqlite3.Connection, key: AESGCM, conversation: Conversation, token: str) -> str:
        row = database.execute(
            "SELECT sealed FROM tokens WHERE conversation = ? AND token = ?", (conversation.key, token)
        ).fetchone()
        return self._opened(key, conversation, token, row[0])

    def _key(self, database: sqlite3.Connection, conversation: Conversation, now: float) -> AESGCM | None:
        """The conversation's data key; None when it has none that is still valid."""
        cached = self._keys.get(conversation.key)
        if cached is not None and cached[1] > now:
            return cached[0]
        row = database.execute(
            "SELECT wrapped_key, expires_at FROM conversations WHERE id = ? AND expires_at > ?", (conversation.key, now)
        ).fetchone()
        if row is None:
            return None
        try:
            raw = _unseal(self._wrapper, row[0], _context("key", conversation))
        except InvalidTag:
            raise VaultFailed("expected a conversation key of this vault, got an altered one") from None
        return self._remember(conversation, raw, row[1])

    def _remember(self, conversation: Conversation, raw: bytes, expires_at: float) -> AESGCM:
        if len(self._keys) >= _CACHED_KEYS:
            del self._keys[next(iter(self._keys))]
        key = AESGCM(raw)
        self._keys[conversation.key] = (key, expires_at)
        return key

    def _opened(self, key: AESGCM, conversation: Conversation, token: str, sealed: bytes) -> str:
        try:
            return _unseal(key, sealed, _context("token", conversation, token)).decode()
        except InvalidTag:
            raise VaultFailed("expected a value sealed for this token, got an altered one") from None

    def _forget_copies(self, database: sqlite3.Connection) -> None:
        # secure_delete has overwritten the pages; the log still holds the old ones until it is truncated.
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            raise VaultFailed("expected an open vault, got a closed one", where=str(self._path))
        # With a write-ahead log, SQLite goes on in a file that was moved or deleted, and the next start finds nothing.
        if self._file is not None and _identity(self._path) != self._file:
            raise VaultFailed(
                "expected the vault that was opened, got another file or none in its place",
                where=str(self._path),
                hint="put it back; nothing leaves while the vault is away",
            )
        return self._database

    def _failed(self, error: sqlite3.Error) -> VaultFailed:
        return VaultFailed(
            f"expected a vault that can be read and written, got: {_reason(error)}",
            where=str(self._path),
            hint="make room on that disk; nothing leaves while the vault is down",
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _context(purpose: str, conversation: Conversation, token: str = "") -> bytes:
    fields = (purpose, conversation.tenant, conversation.key, token)
    return b"".join(len(data).to_bytes(4) + data for data in (field.encode() for field in fields))


def _seal(key: AESGCM, value: bytes, context: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + key.encrypt(nonce, value, context)


def _unseal(key: AESGCM, sealed: bytes, context: bytes) -> bytes:
    return key.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)


def _rollback(database: sqlite3.Connection) -> None:
    if database.in_transaction:
        database.execute("ROLLBACK")


def _reason(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or type(error).__name__
