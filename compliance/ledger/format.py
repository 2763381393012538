"""File formats of a ledger's folder.

    entries          the records: two bytes of length, big endian, then canonical JSON of that length; repeated.
                     Every 256 records form an entry bundle of C2SP tlog-tiles
    index            40 bytes per record: its end offset in `entries` (8 bytes, big endian), its leaf hash (32)
    level-1, -2 ...  32 bytes per complete row of 256 hashes of the level below: the tiles' upper levels
    checkpoint       the newest signed tree head
    log.vkey         the public key that signs it
    cosigned         the largest checkpoint with cosignatures of witnesses; absent if none
    pruned           number and end offset of the leading entries whose content was removed; absent if none
    rotations        records of key rotations whose entries were pruned, one line each
    pending/         records that other processes left for the writer
    torn-<offset>    bytes of a write that a crash interrupted; never acknowledged, kept for analysis
    lock             held by the writer

`index` and the levels can be rebuilt from `entries`; `entries` and `checkpoint` cannot.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sovctl.support.plain_json import Differs, plain_json

from .errors import LedgerDamaged

ENTRIES, INDEX, CHECKPOINT, VKEY, LOCK = "entries", "index", "checkpoint", "log.vkey", "lock"
PRUNED, ROTATIONS = "pruned", "rotations"
LENGTH_BYTES = 2
MAX_RECORD_BYTES = 65_535  # C2SP tlog-tiles, "Log entries": 16-bit lengths in entry bundles
_BUFFER_BYTES = 1 << 20


class Entry(NamedTuple):
    """One record of the file `entries`."""

    leaf_index: int
    data: bytes
    """Canonical JSON; the leaf is SHA-256(0x00 || data)."""
    end: int
    """End offset in `entries`, in bytes."""

    @property
    def record(self) -> dict[str, Any]:
        """The record as plain values.

        Raises:
            LedgerDamaged: the bytes are not a record.
        """
        value = _parsed(self.data)
        if value is None:
            raise LedgerDamaged(f"expected entry {self.leaf_index} to be a record, got other bytes")
        return value


class Pruned(NamedTuple):
    """The leading entries whose content was removed; see `pruning`."""

    size: int = 0
    """Number of entries."""
    end: int = 0
    """End offset of the last of them in `entries`, in bytes."""


def read_pruned(directory: Path) -> Pruned:
    """Return the content of the file `pruned`; zeros if it is absent.

    Raises:
        LedgerDamaged: the file has other content.
    """
    try:
        value = json.loads((directory / PRUNED).read_bytes())
        found = Pruned(value["size"], value["end"])
    except FileNotFoundError:
        return Pruned()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        found = Pruned(-1, -1)
    if not all(type(number) is int and number > 0 for number in found):
        raise LedgerDamaged(
            "expected the number of pruned entries and their end, got other content", where=str(directory / PRUNED)
        )
    return found


def read_rotations(directory: Path) -> dict[int, bytes]:
    """Return the records of the file `rotations` by index. The caller compares them with their leaf hashes."""
    found: dict[int, bytes] = {}
    path = directory / ROTATIONS
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        index = (_parsed(line) or {}).get("index")
        if type(index) is int:
            found[index] = line
    return found


def level_name(level: int) -> str:
    """Return the name of the file with the hashes of `level`, at least 1."""
    return f"level-{level}"


def is_record(data: bytes) -> bool:
    """Return whether `data` is an output of `encode_record`.

    A record with unusual numbers or keys only has to be JSON, because its canonical form requires a library.
    """
    value = _parsed(data)
    try:
        return value is not None and plain_json(value) == data
    except Differs:
        return True


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def frame(data: bytes) -> bytes:
    """Return `data` with its length prefix, as stored in `entries`."""
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def read_entries(path: Path, *, start: int = 0, offset: int = 0) -> Iterator[Entry]:
    """Yield the records from `offset` on, in order, in constant memory. Stops before an incomplete record.

    Pruned records are skipped. The first yielded record is then the first with content.

    Args:
        path: the `entries` file.
        start: index of the record at `offset`.

    Raises:
        LedgerDamaged: the file `pruned` is invalid.
    """
    if offset < (pruned := read_pruned(path.parent)).end:
        start, offset = pruned
    with path.open("rb", buffering=_BUFFER_BYTES) as file:
        if offset > os.fstat(file.fileno()).st_size:
            return
        file.seek(offset)
        index, end, read = start, offset, file.read
        while len(length := read(LENGTH_BYTES)) == LENGTH_BYTES:
            size = length[0] << 8 | length[1]
            data = read(size)
            if len(data) < size:
                return
            end += LENGTH_BYTES + size
            yield Entry(index, data, end)
            index += 1
