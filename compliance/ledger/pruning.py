"""Removes the content of old entries from a ledger, and keeps their hashes (C2SP tlog-tiles, "Pruning").

    prune(ledger, 4096, reason={"retention_days": 365})

The record `pruned` is appended first. Then the file `pruned` states the first kept entry, and the earlier bytes are
released by the file system. Offsets, leaf hashes and upper rows stay: the root, proofs of kept entries, earlier proofs,
and consistency with every earlier checkpoint still verify. A crash between the steps is repaired by the next call.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import InputError

from . import format as layout
from .format import Pruned, read_pruned
from .merkle import WIDTH
from .reader import LedgerReader
from .rotation import MARK
from .store import Ledger

RECORD_TYPE = "pruned"
_KEEP_SIZE, _PUNCH_HOLE = 0x01, 0x02  # linux/falloc.h
_BLOCK_BYTES = 1 << 20


def prune_older(ledger: Ledger, *, days: int, now_s: float) -> int:
    """Prune the whole tiles of entries that are older than a number of days. Return the number of pruned entries.

    Raises:
        LedgerUnwritable: the record of the pruning is not durable; no entry was pruned.
    """
    size = older_than(LedgerReader(ledger.directory), datetime.fromtimestamp(now_s, UTC) - timedelta(days=days))
    return prune(ledger, size - size % WIDTH, reason={"retention_days": days}, now_s=now_s)


def older_than(reader: LedgerReader, limit: datetime) -> int:
    """Return the number of leading entries up to the last one with a time before `limit`.

    The count ends at the first entry with a later time. Entries without a time between both are kept.
    """
    count = read_pruned(reader.directory).size
    for entry in reader.entries(start=count):
        time_text = str(entry.record.get("time", ""))
        try:
            at = datetime.fromisoformat(time_text) if time_text else None
        except ValueError:
            at = None
        if at is not None:
            if (at if at.tzinfo else at.replace(tzinfo=UTC)) >= limit:
                return count
            count = entry.leaf_index + 1
    return count


def prune(
    ledger: Ledger,
    size: int,
    *,
    reason: Mapping[str, Any],
    now_s: float | None = None,
    before_content: Callable[[], None] = lambda: None,
) -> int:
    """Remove the content of the first `size` entries. Return the number of entries that had content.

    Args:
        reason: fields of the record, such as the retention.
        before_content: called when the record is durable, before the content is removed; repeated after a crash.

    Raises:
        InputError: no entry would be kept under the checkpoint.
        LedgerUnwritable: the record is not durable; no entry was pruned.
    """
    before = read_pruned(ledger.directory)
    if size <= before.size:
        _release(ledger.directory / layout.ENTRIES, before.end)  # completes an interrupted call
        return 0
    checkpoint = ledger.checkpoint()
    if size >= checkpoint.size:
        raise InputError(f"expected to keep an entry of {checkpoint.size}, got a request to prune {size}")
    record = {
        "type": RECORD_TYPE,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s if now_s is not None else time.time())),
        "size": size,
        "root": ledger.root_at(size).hex(),
        "pruned_before": before.size,
        **reason,
    }
    ledger.append([record])
    ledger.checkpoint()
    _keep_rotations(ledger, size)
    before_content()
    end = ledger.end_of(size)
    write_atomic(ledger.directory / layout.PRUNED, canonical_json(Pruned(size, end)._asdict()) + b"\n", mode=0o640)
    _release(ledger.directory / layout.ENTRIES, end)
    return size - before.size


def _keep_rotations(ledger: Ledger, size: int) -> None:
    """Copy the rotations of the key before they are pruned, because signatures of checkpoints depend on them."""
    found = layout.read_rotations(ledger.directory)
    for entry in LedgerReader(ledger.directory).entries():
        if entry.leaf_index >= size:
            break
        if MARK in entry.data:
            found[entry.leaf_index] = entry.data
    if found:
        write_atomic(ledger.directory / layout.ROTATIONS, b"\n".join(found.values()) + b"\n", mode=0o640)


def _release(path: Path, end: int) -> None:
    """Release the bytes before `end`; overwrite them with zeros if the file system cannot release them."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        if end and not _punch(descriptor, end):
            for offset in range(0, end, _BLOCK_BYTES):
                os.pwrite(descriptor, b"\0" * min(_BLOCK_BYTES, end - offset), offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _punch(descriptor: int, length: int) -> bool:
    """Deallocate the first `length` bytes; partial blocks are zeroed (fallocate(2), FALLOC_FL_PUNCH_HOLE)."""
    try:
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return False
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return int(fallocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, 0, length)) == 0
