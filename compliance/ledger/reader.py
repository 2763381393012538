"""Reading a ledger without its key and without its lock: what reports and auditors do.

    reader = LedgerReader(state / "ledger")
    for entry in reader.entries():
        entry.leaf_index, entry.record

Nothing read here is verified; `verify` does that.
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
    """A ledger as it lies on the disk.

    Args:
        directory: the ledger's folder.

    Raises:
        InputError: there is no readable checkpoint in it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        path = directory / layout.CHECKPOINT
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"expected a ledger, got no readable checkpoint: {(error.strerror or '').lower()}",
                where=str(path),
                hint="name the folder that holds `entries` and `checkpoint`",
            ) from error
        self.checkpoint: Checkpoint = parse_checkpoint(content, where=str(path))

    def vkey_text(self) -> str:
        """The public key that lies beside the log; empty when there is none."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.directory / layout.VKEY).read_text()
        return ""

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        """Records from `start` on, in constant memory; behind the checkpoint only as far as they are records."""
        for entry in self._read(start):
            if entry.leaf_index >= self.checkpoint.size and not layout.is_record(entry.data):
                return  # what a power cut left behind the last write; nobody was told of it
            if entry.leaf_index >= start:
                yield entry

    def _read(self, start: int) -> Iterator[Entry]:
        """Whole records from `start` on, or from the first one on where the index does not lead to it."""
        path = self.directory / layout.ENTRIES
        if not path.exists():
            return iter(())
        with contextlib.closing(Index(self.directory)) as index:
            offset, row = index.end(start - 1), index.block(start, start + 1)
        if offset is not None and row:  # offsets are not signed: the first record must be the one the row speaks of
            first = next(read_entries(path, start=start, offset=offset), None)
            if first is not None and (first.end, leaf_hash(first.data)) == row[0]:
                return read_entries(path, start=start, offset=offset)
        return read_entries(path)

    def inclusion_proof(self, leaf_index: int, *, size: int | None = None) -> list[bytes]:
        """The audit path of an entry in the tree of `size` entries, by default the checkpoint's.

        Raises:
            LedgerDamaged: the index beside the log lacks what is needed.
        """
        return self._prove(inclusion_proof, leaf_index, size)

    def consistency_proof(self, old_size: int, *, size: int | None = None) -> list[bytes]:
        """What shows that the tree of `old_size` is the beginning of that of `size`, by default the checkpoint's.

        Raises:
            LedgerDamaged: the index beside the log lacks what is needed.
        """
        return self._prove(consistency_proof, old_size, size)

    def _prove(self, prove: Callable[[Rows, int, int], list[bytes]], number: int, size: int | None) -> list[bytes]:
        wanted = self.checkpoint.size if size is None else size
        with contextlib.closing(Index(self.directory)) as index:
            if index.count(0) < wanted:
                raise LedgerDamaged(
                    f"expected index rows for {wanted} entries, got {index.count(0)}",
                    where=str(self.directory / layout.INDEX),
                    hint="opening the ledger for writing rebuilds the index",
                )
            return prove(index.rows, number, wanted)
