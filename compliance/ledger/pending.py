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
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import Busy, InputError

from . import format as layout
from .checkpoint import parse_checkpoint
from .record import encode_record

if TYPE_CHECKING:
    from .store import Ledger

FOLDER = "pending"
TYPES = frozenset({"audit-read", "gather", "heartbeat", "plan"})
"""Types of records that a writer accepts from the folder."""
MAX_AT_ONCE = 256  # records of one adoption; later ones wait for the next


def record_or_leave(directory: Path, record: Mapping[str, Any], *, key_file: Path) -> bool:
    """Append a record to an existing ledger, or leave it for the ledger's writer.

    Args:
        key_file: the ledger's private key; if it is absent, the record is left for the writer.

    Returns:
        True if the record is in the ledger.

    Raises:
        InputError: the folder is not a ledger, or not writable.
    """
    from ..signing import load
    from .store import Ledger

    if record.get("type") not in TYPES:
        raise ValueError(f"type {record.get('type')!r} cannot be left for the writer")
    data = encode_record(record)
    if key_file.exists():
        origin = parse_checkpoint((directory / layout.CHECKPOINT).read_bytes()).origin
        with contextlib.suppress(Busy), Ledger.open(directory, origin=origin, key=load(key_file)) as ledger:
            ledger.append_encoded([data])
            return True
    path = directory / FOLDER / f"{time.time_ns():020}-{secrets.token_hex(8)}.json"
    try:
        write_atomic(path, data, mode=0o640)
    except OSError as error:
        raise InputError(
            f"cannot record the access: {read_error_reason(error)}",
            where=str(path.parent),
            hint="get write access to the folder; for a copy outside the site add --copy",
        ) from error
    return False


def adopt(ledger: Ledger) -> int:
    """Append the pending records of a ledger, delete their files, and return the number of records.

    Files that are not records of `TYPES` are ignored.

    Raises:
        LedgerUnwritable: the records are not durable; their files stay.
    """
    try:
        paths = sorted((ledger.directory / FOLDER).glob("[!.]*.json"))[:MAX_AT_ONCE]
    except OSError:
        return 0
    found = [(path, data) for path in paths if (data := _record(path))]
    if found:
        ledger.append_encoded([data for _, data in found])
    for path, _ in found:
        path.unlink(missing_ok=True)
    return len(found)


def count(directory: Path) -> int:
    """Return the number of pending records."""
    return sum(1 for _ in (directory / FOLDER).glob("[!.]*.json"))


def _record(path: Path) -> bytes:
    """Return the canonical JSON of a pending record; empty if the file is not one."""
    try:
        data = read_bounded(path, layout.MAX_RECORD_BYTES)
        value = layout.Entry(0, data, 0).record
    except Exception:  # noqa: BLE001 - any process of the group can leave files here
        return b""
    return data if value.get("type") in TYPES and layout.is_record(data) else b""
