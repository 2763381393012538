"""API keys of clients: creation, rotation, revocation. The key itself is printed once and not stored.

    key, clients = create(clients, Client(name="branch", tenant="retail"), now=now, expires_in=timedelta(days=365))
    key, clients = rotate(clients, "branch", now=now, grace_period=timedelta(days=7), ...)
    clients = revoke(clients, "branch", key_id=None)

`edit` applies such a change to a file: under a lock and with an atomic replacement, so that concurrent edits both
succeed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..settings import GatewaySettings
from .clients import Client, Key, check_clients, dump_clients, load_clients
from .pins import Pin, digest_of

PREFIX = "sovctl_"
"""Prefix by which secret scanners recognize a key."""
_KEY_BYTES = 32
_FORGET_AFTER = timedelta(days=30)  # expired keys are listed for this time, then their digests are removed
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def new_key() -> str:
    """Return a random key: 256 bits, 50 characters of `[A-Za-z0-9_-]`."""
    return PREFIX + secrets.token_urlsafe(_KEY_BYTES)


def create(
    clients: Sequence[Client], client: Client, *, now: datetime, expires_in: timedelta | None
) -> tuple[str, list[Client]]:
    """Add a client with one key; return the key and all clients.

    Raises:
        InputError: the name is in use.
    """
    if any(each.name == client.name for each in clients):
        raise InputError(
            f"the client {client.name} exists already", hint=f"`keys rotate {client.name}` gives it another key"
        )
    text, key = _make(now, expires_in)
    return text, [*clients, client.model_copy(update={"keys": [key]})]


def rotate(
    clients: Sequence[Client], name: str, *, now: datetime, expires_in: timedelta | None, grace_period: timedelta
) -> tuple[str, list[Client]]:
    """Add a key to a client; its other keys expire after `grace_period`, or at their earlier expiry.

    Raises:
        InputError: no such client.
    """
    client = _find(clients, name)
    text, new = _make(now, expires_in)
    end = (now + grace_period).replace(microsecond=0)
    kept = [
        key.model_copy(update={"expires_at": min(key.expires_at or end, end)})
        for key in client.all_keys
        if key.expires_at is None or now - key.expires_at < _FORGET_AFTER
    ]
    return text, _replaced(clients, client.model_copy(update={"keys": [new, *kept], "key_sha256": None}))


def revoke(clients: Sequence[Client], name: str, *, key_id: str | None) -> list[Client]:
    """Remove a client, or one of its keys. A client without keys and certificates is removed.

    Raises:
        InputError: no such client, or no such key.
    """
    client = _find(clients, name)
    if key_id is None:
        return [each for each in clients if each.name != name]
    left = [key for key in client.all_keys if key.key_id != key_id]
    if len(left) == len(client.all_keys):
        known = ", ".join(key.key_id for key in client.all_keys)
        raise InputError(f"{name} has no key {key_id}; its keys: {known}")
    if not left and not client.certificates:
        return [each for each in clients if each.name != name]
    return _replaced(clients, client.model_copy(update={"keys": left, "key_sha256": None}))


def parse_duration(text: str) -> timedelta | None:
    """Parse `90d`, `12h` or `30m`; return None for `never`.

    Raises:
        InputError: another format.
    """
    if text == "never":
        return None
    if not (found := re.fullmatch(r"([1-9][0-9]{0,5})([dhm])", text)):
        raise InputError(f"expected a time such as 90d, 12h, 30m, or never, got {text[:20]!r}")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@contextmanager
def edit(path: Path, settings: GatewaySettings, *, others: Sequence[Client], pin: Pin) -> Iterator[list[Client]]:
    """Yield the clients of a file, to be changed in place. Writes them if the block ends without an error.

    Args:
        others: clients of the other file, whose names and keys must not be used.
        pin: names the digest of the file; both digests before the file is replaced, then only the new one. It is read
            under the lock, because another process may have changed file and digest since the settings were read.

    Raises:
        InputError: the file is unusable, or the changed list is invalid.
    """
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(f"the folder is not writable: {error.strerror}", where=str(lock)) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        clients = load_clients(path, may_be_absent=True, digests=pin.read())
        before = [digest_of(path.read_bytes())] if path.exists() else []
        yield clients
        check_clients([*others, *clients], settings, where=str(path))
        text = dump_clients(clients)
        now = digest_of(text.encode())
        pin.write([*before, now])
        write_atomic(path, text, mode=0o600)
        if os.geteuid() == 0:  # root may create keys for a gateway that runs as the owner of the folder
            owner = path.parent.stat()
            os.chown(path, owner.st_uid, owner.st_gid)
        pin.write([now])
    finally:
        os.close(handle)


def _make(now: datetime, expires_in: timedelta | None) -> tuple[str, Key]:
    text, now = new_key(), now.replace(microsecond=0)
    expires_at = now + expires_in if expires_in else None
    return text, Key(sha256=hashlib.sha256(text.encode()).hexdigest(), created_at=now, expires_at=expires_at)


def _find(clients: Sequence[Client], name: str) -> Client:
    for client in clients:
        if client.name == name:
            return client
    raise InputError(f"no client {name} in this file", hint="`keys list` shows them")


def _replaced(clients: Sequence[Client], new: Client) -> list[Client]:
    return [new if each.name == new.name else each for each in clients]
