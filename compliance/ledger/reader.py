"""Reads a ledger without its key and without its lock, for reports and audits.

    reader = LedgerReader(state / "ledger")
    for entry in reader.entries():
        entry.leaf_index, entry.record

The reader does not verify entries or signatures; see `verify`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from sovctl.support.errors import InputError

from . import format as layout
from .checkpoint import Checkpoint, parse_checkpoint
from .errors import LedgerDamaged
from .format import Entry, read_entries
from .index import Index
from .merkle import leaf_hash
from .proof import Rows, consistency_proof, inclusion_proof


class LedgerReader:
    """A ledger, opened for reading.

    Args:
        directory: folder of the ledger.

    Raises:
        InputError: no readable checkpoint in the folder.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        path = directory / layout.CHECKPOINT
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"expected a ledger, but its checkpoint is unreadable: {(error.strerror or '').lower()}",
                where=str(path),
                hint="give the folder that contains `entries` and `checkpoint`",
            ) from error
        self.checkpoint: Checkpoint = parse_checkpoint(content, where=str(path))

    def vkey_text(self) -> str:
        """Return the public key in the folder of the log; empty if the file is missing."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.directory / layout.VKEY).read_text()
        return ""

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        """Yield the records from `start` on, in constant memory. Stops at invalid data after the checkpoint."""
        for entry in self._read(start):
            if entry.leaf_index >= self.checkpoint.size and not layout.is_record(entry.data):
                return  # unacknowledged data of an interrupted write
            if entry.leaf_index >= start:
                yield entry

    def _read(self, start: int) -> Iterator[Entry]:
        """Return the records from `start` on, or all records if the index does not match."""
        path = self.directory / layout.ENTRIES
        if not path.exists():
            return iter(())
        with contextlib.closing(Index(self.directory)) as index:
            offset, row = index.end(start - 1), index.block(start, start + 1)
        if offset is not None and row:  # offsets are not signed: compare the record with the hash in its index row
            first = next(read_entries(path, start=start, offset=offset), None)
            if first is not None and (first.end, leaf_hash(first.data)) == row[0]:
                return read_entries(path, start=start, offset=offset)
        return read_entries(path)

    def inclusion_proof(self, leaf_index: int, *, size: int | None = None) -> list[bytes]:
        """Return the audit path of an entry in the tree of `size` entries; default: the checkpoint.

        Raises:
            LedgerDamaged: the index has too few rows.
        """
        return self._prove(inclusion_proof, leaf_index, size)

    def consistency_proof(self, old_size: int, *, size: int | None = None) -> list[bytes]:
        """Return the proof that the tree of `size` extends that of `old_size`; default size: the checkpoint.

        Raises:
            LedgerDamaged: the index has too few rows.
        """
        return self._prove(consistency_proof, old_size, size)

    def _prove(self, prove: Callable[[Rows, int, int], list[bytes]], number: int, size: int | None) -> list[bytes]:
        wanted = self.checkpoint.size if size is None else size
        with contextlib.closing(Index(self.directory)) as index:
            if index.count(0) < wanted:
                raise LedgerDamaged(
                    f"expected index rows for {wanted} entries, got {index.count(0)}",
                    where=str(self.directory / layout.INDEX),
                    hint="open the ledger for writing, which rebuilds the index",
                )
            return prove(index.rows, number, wanted)
