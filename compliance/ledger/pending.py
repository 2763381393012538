"""Records of processes that cannot append, because another process has the ledger open for writing.

    record_or_leave(ledger, {"type": "audit-read", ...}, key_file=keys / "ledger.key")

A record is appended at once if no process writes the ledger. Otherwise it becomes a file of the folder `pending`, and
the writer appends it: a gateway within a second, other commands when they end. After a crash of the writer between the
two steps, a record can occur twice.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.errors import Busy, InputError

from . import format as layout
from .checkpoint import parse_checkpoint
from .pending_files import FOLDER, TYPES, paths, read_record
from .record import encode_record

if TYPE_CHECKING:
    from .store import Ledger

MAX_AT_ONCE = 256  # records of one adoption; later ones wait for the next


def record_or_leave(
    directory: Path, record: Mapping[str, Any], *, key_file: Path, hint: str = "get write access to the folder"
) -> bool:
    """Append a record to an existing ledger, or leave it for the ledger's writer.

    Args:
        key_file: the ledger's private key; if it is absent, the record is left for the writer.
        hint: remedy if the record cannot be left.

    Returns:
        True if the record is in the ledger.

    Raises:
        InputError: the folder is not a ledger, or not writable.
    """
    from ..signing import load
    from .store import Ledger

    data = _encoded(record)
    if key_file.exists():
        origin = parse_checkpoint((directory / layout.CHECKPOINT).read_bytes()).origin
        with contextlib.suppress(Busy), Ledger.open(directory, origin=origin, key=load(key_file)) as ledger:
            ledger.append_encoded([data])
            return True
    _leave(directory, data, hint=hint)
    return False


def leave(directory: Path, record: Mapping[str, Any]) -> None:
    """Leave a record for the process that writes the ledger.

    Raises:
        InputError: the folder is not writable.
        ValueError: the writer accepts no records of this type, so that the record would be lost.
    """
    if record.get("type") not in TYPES:
        raise ValueError(f"{record.get('type')} is not in TYPES")
    _leave(directory, _encoded(record), hint="get write access to the folder")


def adopt(ledger: Ledger) -> int:
    """Append the pending records of a ledger, delete their files, and return the number of records.

    Files that are not records of `TYPES` are ignored.

    Raises:
        LedgerUnwritable: the records are not durable; their files stay.
    """
    found = [(path, data) for path in paths(ledger.directory)[:MAX_AT_ONCE] if (data := read_record(path))]
    if found:
        ledger.append_encoded([data for _, data in found])
    for path, _ in found:
        path.unlink(missing_ok=True)
    return len(found)


def count(directory: Path) -> int:
    """Return the number of pending records."""
    return len(paths(directory))


def _encoded(record: Mapping[str, Any]) -> bytes:
    if record.get("type") not in TYPES:
        raise ValueError(f"type {record.get('type')!r} cannot be left for the writer")
    return encode_record(record)


def _leave(directory: Path, data: bytes, *, hint: str) -> None:
    path = directory / FOLDER / f"{time.time_ns():020}-{secrets.token_hex(8)}.json"
    try:
        write_atomic(path, data, mode=0o640)
    except OSError as error:
        raise InputError(
            f"cannot leave a record for the ledger's writer: {read_error_reason(error)}",
            where=str(path.parent),
            hint=hint,
        ) from error
