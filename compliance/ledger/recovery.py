"""Recovers a ledger when it is opened, for example after a crash of its writer.

- The entries up to the signed checkpoint must match it, or the ledger is refused.
- Complete records after the checkpoint are adopted, because they may have been acknowledged.
- The bytes of an incomplete record are moved to a file of their own; it was never acknowledged.

The caller appends a record about the last two.
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

_HINT = "run `sovctl audit verify --ledger` on this folder; then restore it from a copy; nothing was changed"


@dataclass(frozen=True)
class Recovered:
    """State of a ledger after recovery."""

    frontier: Frontier
    end: int
    """End offset of the last record in `entries`, in bytes."""
    adopted: int
    """Number of records after the checkpoint; 0 after a clean close."""
    cut_bytes: int
    cut_sha256: str
    """SHA-256 of the bytes that were moved; empty if none."""


def recover(directory: Path, checkpoint: Checkpoint, index: Index) -> Recovered:
    """Check the signed entries, adopt complete later ones, and move incomplete bytes away.

    Raises:
        LedgerDamaged: the signed entries are incomplete or have another root. No file was changed.
    """
    entries = directory / layout.ENTRIES
    opened = _open_quickly(entries, checkpoint, index)
    if opened is None:
        opened = _open_by_reading(entries, checkpoint, index)
        _rebuild(entries, checkpoint.size, index)
    frontier, end = opened
    index.truncate(checkpoint.size)
    adopted, end = _adopt_tail(entries, frontier, end, index)
    cut_bytes, cut_sha256 = _move_torn_bytes(directory, end)
    return Recovered(frontier, end, adopted, cut_bytes, cut_sha256)


def _open_quickly(entries: Path, checkpoint: Checkpoint, index: Index) -> tuple[Frontier, int] | None:
    """Use the index if it has the signed root and its last row matches the last signed record; else return None."""
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


def _open_by_reading(entries: Path, checkpoint: Checkpoint, index: Index) -> tuple[Frontier, int]:
    frontier, end = _pruned_part(entries, index)
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


def _pruned_part(entries: Path, index: Index) -> tuple[Frontier, int]:
    """Return the right edge of the tree of the pruned entries, from their leaf hashes, and their end offset."""
    pruned, frontier = layout.read_pruned(entries.parent), Frontier()
    for leaf in index.rows(0, 0, pruned.size):
        frontier.append(leaf)
    if frontier.size < pruned.size:
        raise LedgerDamaged(
            f"expected the hashes of {pruned.size} pruned entries, got {frontier.size}",
            where=str(entries.parent / layout.INDEX),
            hint=_HINT,
        )
    return frontier, pruned.end


def _rebuild(entries: Path, size: int, index: Index) -> None:
    pruned, frontier = layout.read_pruned(entries.parent), Frontier()
    index.truncate(pruned.size)  # the leaf hashes of pruned entries exist nowhere else
    for leaf in index.rows(0, 0, pruned.size):
        index.write(frontier.size, [], enumerate(frontier.append(leaf), start=1))
    for entry in read_entries(entries):
        if entry.leaf_index == size:
            break
        _add(entry.data, entry.end, frontier, index)


def _adopt_tail(entries: Path, frontier: Frontier, end: int, index: Index) -> tuple[int, int]:
    signed = frontier.size
    for entry in read_entries(entries, start=signed, offset=end):
        if not layout.is_record(entry.data):  # a power failure can leave zeros or old blocks after the last fsync
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
