"""Replaces the private key of a ledger, in its file and in its log. Repeatable after a crash at any point.

    record = rotate(state / "ledger", state / "keys" / "ledger.key", reason="planned", operator="ops")

Order: the new key is stored as `<key file>.new`, the rotation becomes an entry, a checkpoint is signed with the new
key, `log.vkey` is replaced, and the new key replaces the file of the old one, which is deleted by that.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder
from sovctl.support.errors import InputError

from ..signing import load, load_or_create
from .reader import LedgerReader
from .rotation import MARK
from .store import Ledger

REASONS = ("planned", "compromised")


def rotate(directory: Path, key_file: Path, *, reason: str, operator: str) -> dict[str, Any]:
    """Rotate the key of a ledger, or complete an interrupted rotation. Return the record of the rotation.

    Args:
        key_file: private key, or the URI of one in a token. The new key is created, or taken from `<key file>.new`.
        reason: one of `REASONS`.

    Raises:
        InputError: no ledger, another key, or unknown reason.
        Busy: another process writes the ledger.
    """
    if reason not in REASONS:
        raise InputError(f"expected one of {', '.join(REASONS)}, got {reason[:40]!r}", where="--reason")
    origin = LedgerReader(directory).checkpoint.origin
    new_file = key_file.with_name(f"{key_file.name}.new")
    old, new = load(key_file), load_or_create(new_file)
    record = _begun(directory, new.public.vkey(origin))
    if record:
        with Ledger.open(directory, origin=origin, key=new, previous=old) as ledger:
            ledger.complete_rotation()
    else:
        with Ledger.open(directory, origin=origin, key=old) as ledger:
            time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            record = ledger.rotate_key(new, time=time, operator=operator, reason=reason)
    new_file.replace(key_file)
    sync_folder(key_file.parent)
    return record


def _begun(directory: Path, new_vkey: str) -> dict[str, Any]:
    """Return the record of an interrupted rotation to a key; empty if absent."""
    for entry in LedgerReader(directory).entries():
        if MARK in entry.data and (record := entry.record).get("new_vkey") == new_vkey:
            return record
    return {}
