"""The derived files of a ledger: leaf hashes with offsets, and the upper rows of the tree.

With them, opening, random access and proofs read a few hundred bytes, independent of the size of the log, and `verify`
can name the damaged entry. The files are not trusted: opening compares them with the signed root.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from . import format as layout
from .merkle import HASH_BYTES, LEVEL_BITS, WIDTH, Frontier

OFFSET_BYTES = 8
ROW_BYTES = OFFSET_BYTES + HASH_BYTES
_ROW = struct.Struct(f">Q{HASH_BYTES}s")


class Index:
    """`index` and `level-1`, `level-2`, ... of one ledger.

    Args:
        directory: the ledger's folder.
        writable: True for the writer; missing files are then created.
    """

    def __init__(self, directory: Path, *, writable: bool = False) -> None:
        self._directory = directory
        self._flags = os.O_RDWR if writable else os.O_RDONLY
        self._files: list[int] = []

    def close(self) -> None:
        """Close the files. They are reopened on use."""
        for descriptor in self._files:
            os.close(descriptor)
        self._files.clear()

    def count(self, level: int) -> int:
        """Return the number of complete hashes in the file of `level`."""
        descriptor = self._file(level)
        return 0 if descriptor is None else os.fstat(descriptor).st_size // _width(level)

    def rows(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return the hashes `start` to `stop` of `level`; fewer if the file is shorter. Implements `proof.Rows`."""
        descriptor, width = self._file(level), _width(level)
        if descriptor is None:
            return []
        data = os.pread(descriptor, (stop - start) * width, start * width)
        return [data[at - HASH_BYTES : at] for at in range(width, len(data) + 1, width)]

    def block(self, start: int, stop: int) -> list[tuple[int, bytes]]:
        """Return end offset and leaf hash of the records `start` to `stop`; fewer if the file is shorter."""
        descriptor = self._file(0)
        data = b"" if descriptor is None else os.pread(descriptor, (stop - start) * ROW_BYTES, start * ROW_BYTES)
        return [(end, leaf) for end, leaf in _ROW.iter_unpack(data[: len(data) - len(data) % ROW_BYTES])]

    def end(self, index: int) -> int | None:
        """Return the end offset of record `index` in `entries`; 0 for -1, None if the row is missing."""
        if index < 0:
            return 0
        descriptor = self._file(0)
        data = b"" if descriptor is None else os.pread(descriptor, OFFSET_BYTES, index * ROW_BYTES)
        return int.from_bytes(data, "big") if len(data) == OFFSET_BYTES else None

    def frontier(self, size: int) -> Frontier | None:
        """Return the right edge of the tree at `size` from the files; None if rows are missing."""
        rows = []
        for level in range(max(1, -(-size.bit_length() // LEVEL_BITS))):
            count = size >> (LEVEL_BITS * level)
            rows.append(self.rows(level, count - count % WIDTH, count))
            if len(rows[-1]) != count % WIDTH:
                return None
        return Frontier(size, rows)

    def write(self, size: int, leaves: Iterable[tuple[int, bytes]], completed: Iterable[tuple[int, bytes]]) -> None:
        """Write rows after those of the first `size` records. Durable after `sync`.

        Args:
            leaves: end offset and leaf hash of each new record.
            completed: level and hash of each row completed by these records, in order.
        """
        data = b"".join([end.to_bytes(OFFSET_BYTES, "big") + leaf for end, leaf in leaves])
        write_at(self._writable(0), data, size * ROW_BYTES)
        counts: dict[int, int] = {}
        for level, value in completed:
            count = counts.get(level, size >> (LEVEL_BITS * level))
            write_at(self._writable(level), value, count * HASH_BYTES)
            counts[level] = count + 1

    def truncate(self, size: int) -> None:
        """Remove all rows after the first `size` records."""
        for level, descriptor in enumerate(self._opened()):
            os.ftruncate(descriptor, (size >> (LEVEL_BITS * level)) * _width(level))

    def sync(self) -> None:
        """Make the rows durable. Required before a checkpoint, because a power failure must not lose its rows."""
        for descriptor in self._opened():
            os.fdatasync(descriptor)

    def _opened(self) -> list[int]:
        while self._file(len(self._files)) is not None:
            pass
        return self._files

    def _writable(self, level: int) -> int:
        descriptor = self._file(level, create=True)
        assert descriptor is not None
        return descriptor

    def _file(self, level: int, *, create: bool = False) -> int | None:
        while len(self._files) <= level:
            name = layout.level_name(len(self._files)) if self._files else layout.INDEX
            flags = self._flags | (os.O_CREAT if create else 0)
            try:
                self._files.append(os.open(self._directory / name, flags, 0o640))
            except FileNotFoundError:
                return None
        return self._files[level]


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`. Short writes are continued until the system reports an error."""
    while (written := os.pwrite(descriptor, data, offset)) < len(data):
        offset, data = offset + written, data[written:]


def _width(level: int) -> int:
    return HASH_BYTES if level else ROW_BYTES
