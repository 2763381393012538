"""Finding the end of a ledger again after whatever ended the last writer.

Everything up to the signed checkpoint must be as it was signed, or the ledger is refused. What lies behind it was
written after the checkpoint: whole records are adopted (some of them were acknowledged), and a record that the crash
cut short, which nobody was told of, is moved aside. The caller notes both in the ledger.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex

from . import format as layout
from .checkpoint import Checkpoint
from .errors import LedgerDamaged
from .format import read_entries
from .index import Index
from .merkle import Frontier, leaf_hash

_HINT = "run `sovctl audit verify --ledger` on this folder; restore it from a copy, nothing was changed"


@dataclass(frozen=True)
class Recovered:
    """Where a ledger stands after opening."""

    frontier: Frontier
    end: int
    """Offset in `entries` just behind the last record."""
    adopted: int
    """Records found behind the checkpoint, 0 after a clean close."""
    cut_bytes: int
    cut_sha256: str
    """Of the bytes moved aside; empty when there were none."""


def recover(directory: Path, checkpoint: Checkpoint, index: Index) -> Recovered:
    """Check what was signed, adopt what was written after it, cut what was torn.

    Raises:
        LedgerDamaged: the signed part is shorter than it was, or has another root. Nothing was changed then.
    """
    entries = directory / layout.ENTRIES
    opened = _open_quickly(entries, checkpoint, index)
    if opened is None:
        opened = _open_by_reading(entries, checkpoint)
        _rebuild(entries, checkpoint.size, index)
    frontier, end = opened
    index.truncate(checkpoint.size)
    adopted, end = _adopt_tail(entries, frontier, end, index)
    cut_bytes, cut_sha256 = _move_torn_bytes(directory, end)
    return Recovered(frontier, end, adopted, cut_bytes, cut_sha256)


def _open_quickly(entries: Path, checkpoint: Checkpoint, index: Index) -> tuple[Frontier, int] | None:
    """Trust the index where it leads to the signed root and its last row to the last signed record."""
    frontier, end, begin = (
        index.frontier(checkpoint.size),
        index.end(checkpoint.size - 1),
        index.end(checkpoint.size - 2),
    )
    if frontier is None or end is None or begin is None or frontier.root() != checkpoint.root:
        return None
    if checkpoint.size:
        last = next(read_entries(entries, start=checkpoint.size - 1, offset=begin), None)
        if (
            last is None
            or last.end != end
            or [leaf_hash(last.data)] != index.rows(0, last.leaf_index, last.leaf_index + 1)
        ):
            return None
    return frontier, end


def _open_by_reading(entries: Path, checkpoint: Checkpoint) -> tuple[Frontier, int]:
    frontier, end = Frontier(), 0
    for entry in read_entries(entries):
        if entry.leaf_index == checkpoint.size:
            break
        frontier.append(leaf_hash(entry.data))
        end = entry.end
    if frontier.size < checkpoint.size:
        raise LedgerDamaged(
            f"expected the {checkpoint.size} entries of the signed checkpoint, got {frontier.size}",
            where=str(entries),
            hint=_HINT,
        )
    if frontier.root() != checkpoint.root:
        raise LedgerDamaged(
            f"expected {checkpoint.size} entries with the signed root, got another root", where=str(entries), hint=_HINT
        )
    return frontier, end


def _rebuild(entries: Path, size: int, index: Index) -> None:
    index.truncate(0)
    frontier = Frontier()
    for entry in read_entries(entries):
        if entry.leaf_index == size:
            break
        _add(entry.data, entry.end, frontier, index)


def _adopt_tail(entries: Path, frontier: Frontier, end: int, index: Index) -> tuple[int, int]:
    signed = frontier.size
    for entry in read_entries(entries, start=signed, offset=end):
        if not layout.is_record(entry.data):  # a power cut can leave zeros or old blocks behind the last fsync
            break
        _add(entry.data, entry.end, frontier, index)
        end = entry.end
    return frontier.size - signed, end


def _add(data: bytes, end: int, frontier: Frontier, index: Index) -> None:
    size, leaf = frontier.size, leaf_hash(data)
    index.write(size, [(end, leaf)], enumerate(frontier.append(leaf), start=1))


def _move_torn_bytes(directory: Path, end: int) -> tuple[int, str]:
    with (directory / layout.ENTRIES).open("r+b") as file:
        file.seek(end)
        torn = file.read()
        if not torn:
            return 0, ""
        write_atomic(directory / f"torn-{end}", torn, mode=0o640)
        file.truncate(end)
        os.fsync(file.fileno())
    return len(torn), sha256_hex(torn)
