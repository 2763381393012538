"""Writes a ledger. Entries are durable when an append returns.

    with Ledger.open(state / "ledger", origin="sovctl.site/ministry", key=key) as ledger:
        ledger.append([{"type": "evidence", "sha256": "..."}])  # range(0, 1)
        ledger.checkpoint().text

Invariants:
- One process writes, one thread at a time; a second writer receives `Busy`.
- An append is one write and one fsync for all its records, or it fails and none is stored.
- A checkpoint covers durable entries only, so that two checkpoints of a log are always consistent.
- A checkpoint is written every `checkpoint_every` entries and on close. If that fails, appends are refused.
- A ledger that differs from its signed checkpoint is refused and not repaired.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sovctl.support.atomic_files import sync_folder, write_atomic
from sovctl.support.errors import Busy, InputError

from ..verify_key import BadSignature, Signer
from . import format as layout
from . import pending
from .checkpoint import Checkpoint, parse_checkpoint, sign_checkpoint
from .errors import LedgerDamaged, LedgerUnwritable
from .format import frame
from .index import Index, write_at
from .merkle import Frontier, leaf_hash
from .proof import consistency_proof, inclusion_proof, inclusion_proofs, subtree_root
from .record import encode_record
from .recovery import recover
from .rotation import MARK, rotation_record

CHECKPOINT_EVERY = 1024  # entries; 10 signatures per second at 10,000 entries per second


class Ledger:
    """A ledger opened for writing; see `Ledger.open`."""

    def __init__(
        self,
        directory: Path,
        *,
        origin: str,
        key: Signer,
        checkpoint_every: int,
        lock: int,
        previous: Signer | None = None,
    ) -> None:
        self.directory = directory
        self.origin = origin
        self._key = key
        self._checkpoint_every = checkpoint_every
        self._lock_file = lock
        self._thread = threading.RLock()
        self._broken = ""
        self._checkpoint = _first_or_last_checkpoint(directory, origin, key, previous)
        self._index = Index(directory, writable=True)
        recovered = recover(directory, self._checkpoint, self._index)
        self._frontier: Frontier = recovered.frontier
        self._end = recovered.end
        if previous is None and recovered.adopted:
            _refuse_interrupted_rotation(directory, self._checkpoint.size)
        self._entries = os.open(directory / layout.ENTRIES, os.O_RDWR)
        if recovered.adopted or recovered.cut_bytes:
            note = {"type": "recovered", "adopted": recovered.adopted, "cut_bytes": recovered.cut_bytes}
            note |= {"cut_sha256": recovered.cut_sha256} if recovered.cut_bytes else {}
            self.append_encoded([encode_record(note)])
            self.checkpoint()
        self.adopt_pending()

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        origin: str,
        key: Signer,
        checkpoint_every: int = CHECKPOINT_EVERY,
        previous: Signer | None = None,
    ) -> Ledger:
        """Open the ledger in `directory`, or create it.

        Args:
            directory: created if absent, with access for owner and group only.
            origin: name of the log in its checkpoints, such as `sovctl.site/ministry`; no spaces, no plus sign.
            key: signs the checkpoints; replaced only by `rotate_key`.
            previous: only to complete an interrupted rotation to `key`: the key before it.
            checkpoint_every: number of entries between checkpoints.

        Raises:
            Busy: another process has the ledger open for writing.
            LedgerDamaged: the entries differ from the signed checkpoint.
            InputError: the ledger has another origin or key.
        """
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        lock = os.open(directory / layout.LOCK, os.O_RDWR | os.O_CREAT, 0o640)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cls(
                directory, origin=origin, key=key, checkpoint_every=checkpoint_every, lock=lock, previous=previous
            )
        except BlockingIOError:
            os.close(lock)
            raise Busy(
                "another process is writing to this ledger", where=str(directory), hint="wait until it has finished"
            ) from None
        except BaseException:
            os.close(lock)
            raise

    @property
    def size(self) -> int:
        """Number of entries, all durable."""
        return self._frontier.size

    def append(self, records: Sequence[Mapping[str, Any]]) -> range:
        """Append all records durably, or none of them. Pending records are appended before them, in the order of time.

        Returns:
            Indices of the records, in their order.

        Raises:
            InputError: a record is too large, or has values that are not plain; none was written.
            LedgerUnwritable: the records are not durable. Do not perform the actions they record.
        """
        encoded = [encode_record(record) for record in records]
        with self._thread:
            self.adopt_pending()
            return self.append_encoded(encoded)

    def append_encoded(self, entries: Sequence[bytes]) -> range:
        """Append outputs of `encode_record`; see `append`."""
        with self._thread:
            self._require_usable()
            if self._is_due():
                self.checkpoint()
            first, frontier, end = self.size, self._frontier.copy(), self._end
            leaves: list[tuple[int, bytes]] = []
            completed: list[tuple[int, bytes]] = []
            framed: list[bytes] = []
            for data in entries:
                leaf = leaf_hash(data)
                completed += enumerate(frontier.append(leaf), start=1)
                framed.append(frame(data))
                end += len(framed[-1])
                leaves.append((end, leaf))
            if framed:
                self._write(b"".join(framed), leaves, completed)
                self._frontier, self._end = frontier, end
            if self._is_due():
                with contextlib.suppress(LedgerUnwritable):  # the entries are durable; the next append raises
                    self.checkpoint()
            return range(first, self.size)

    def checkpoint(self) -> Checkpoint:
        """Write and return a signed checkpoint over all entries. It is durable on return.

        Raises:
            LedgerUnwritable: the checkpoint could not be written. The entries stay durable.
        """
        with self._thread:
            self._require_usable()
            if self._checkpoint.size != self.size:
                checkpoint = sign_checkpoint(self.origin, self.size, self._frontier.root(), self._key)
                try:
                    self._index.sync()
                    write_atomic(self.directory / layout.CHECKPOINT, checkpoint.text)
                except OSError as error:
                    raise self._unwritable("checkpoint", error) from error
                self._checkpoint = checkpoint
            return self._checkpoint

    def rotate_key(self, new: Signer, *, time: str, operator: str, reason: str) -> dict[str, Any]:
        """Replace the key of the log by `new`, and return the record. The old key signs nothing after it.

        After a crash, the rotation is completed by opening the ledger with the new key and `previous`.

        Raises:
            LedgerUnwritable: the record is not durable; the old key stays in force.
        """
        with self._thread:
            self.checkpoint()
            record = rotation_record(
                self.origin, self.size, old=self._key, new=new, time=time, operator=operator, reason=reason
            )
            old, self._key = self._key, new  # before the append, which can write a checkpoint
            try:
                self.append([record])
            except BaseException:
                self._key = old
                raise
            self.checkpoint()
            write_atomic(self.directory / layout.VKEY, new.public.vkey(self.origin) + "\n")
            return record

    def complete_rotation(self) -> None:
        """Complete the rotation to the key that this ledger was opened with. The log contains its record."""
        with self._thread:
            self.checkpoint()
            write_atomic(self.directory / layout.VKEY, self._key.public.vkey(self.origin) + "\n")

    def adopt_pending(self) -> int:
        """Append the records that other processes left for this writer; see `pending`. Return their number.

        Raises:
            LedgerUnwritable: the records are not durable.
        """
        with self._thread:
            return pending.adopt(self)

    def inclusion_proof(self, index: int, *, size: int | None = None) -> list[bytes]:
        """Return the audit path of entry `index` in the tree of `size` entries; default: the newest checkpoint.

        Raises:
            ValueError: the tree has no entry `index`.
        """
        with self._thread:
            return inclusion_proof(self._index.rows, index, self._checkpoint.size if size is None else size)

    def inclusion_proofs(self, indices: Iterable[int]) -> dict[int, list[bytes]]:
        """Return the audit paths of entries in the tree of the newest checkpoint, by entry index.

        Raises:
            ValueError: the tree lacks an entry.
        """
        with self._thread:
            return inclusion_proofs(self._index.rows, indices, self._checkpoint.size)

    def consistency_proof(self, old_size: int, *, size: int | None = None) -> list[bytes]:
        """Return the proof that the tree of `size` extends that of `old_size`; default size: the newest checkpoint.

        Raises:
            ValueError: `old_size` is larger than `size`.
        """
        with self._thread:
            return consistency_proof(self._index.rows, old_size, self._checkpoint.size if size is None else size)

    def root_at(self, size: int) -> bytes:
        """Return the root hash over the first `size` entries, at least 1."""
        with self._thread:
            return subtree_root(self._index.rows, 0, size)

    def end_of(self, size: int) -> int:
        """Return the end offset of the first `size` entries in the file `entries`, in bytes.

        Raises:
            LedgerDamaged: the index lacks the row.
        """
        with self._thread:
            end = self._index.end(size - 1)
        if end is None:
            raise LedgerDamaged(f"expected index rows for {size} entries, got fewer", where=str(self.directory))
        return end

    def close(self) -> None:
        """Write a last checkpoint and release the lock. Idempotent."""
        with self._thread:
            if self._lock_file < 0:
                return
            try:
                if not self._broken:
                    self.adopt_pending()
                    self.checkpoint()
            finally:
                self._index.close()
                os.close(self._entries)
                os.close(self._lock_file)  # releases the lock
                self._lock_file = -1

    def abandon(self) -> None:
        """Close the files in a forked child without writing to them. The parent keeps its lock."""
        for descriptor in (self._entries, self._lock_file):
            os.close(descriptor)
        self._index.close()
        self._lock_file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_due(self) -> bool:
        return self.size - self._checkpoint.size >= self._checkpoint_every

    def _write(self, data: bytes, leaves: list[tuple[int, bytes]], completed: list[tuple[int, bytes]]) -> None:
        try:
            write_at(self._entries, data, self._end)
            self._index.write(self.size, leaves, completed)
        except OSError as error:
            self._undo()
            raise self._unwritable("entries", error) from error
        try:
            os.fdatasync(self._entries)
        except OSError as error:
            # After a failed fsync the content of the disk is unknown, and a second fsync may succeed without writing
            # (PostgreSQL wiki, "Fsync Errors", 2018). Appends are refused until the ledger is reopened, which reads it.
            self._broken = "an earlier fsync failed"
            raise self._unwritable("entries", error) from error

    def _undo(self) -> None:
        try:
            os.ftruncate(self._entries, self._end)
            self._index.truncate(self.size)
        except OSError:
            self._broken = "an earlier write failed and could not be undone"

    def _unwritable(self, what: str, error: OSError) -> LedgerUnwritable:
        return LedgerUnwritable(
            f"cannot write {what}: {(error.strerror or type(error).__name__).lower()}",
            where=str(self.directory),
            hint="free space on that disk; requests are refused until the ledger is writable",
        )

    def _require_usable(self) -> None:
        if self._lock_file < 0:
            raise LedgerUnwritable("the ledger is closed", where=str(self.directory))
        if self._broken:
            raise LedgerUnwritable(self._broken, where=str(self.directory), hint="open the ledger again")


def _first_or_last_checkpoint(directory: Path, origin: str, key: Signer, previous: Signer | None) -> Checkpoint:
    """Return the verified checkpoint of the log. Creates an empty log in a new folder."""
    path, entries = directory / layout.CHECKPOINT, directory / layout.ENTRIES
    if not path.exists():
        _start(directory, origin, key)
    checkpoint = parse_checkpoint(path.read_bytes(), where=str(path))
    vkey = key.public.vkey(origin)
    found = "".join(_text_or_nothing(directory / layout.VKEY).split())
    accepted = {vkey} if previous is None else {vkey, previous.public.vkey(origin)}
    if checkpoint.origin != origin or found not in accepted:
        raise InputError(
            f"expected the ledger of {origin} with key hash {key.public.note_key_id(origin).hex()}, "
            f"got that of {checkpoint.origin}" + (" with another key" if checkpoint.origin == origin else ""),
            where=str(directory),
            hint="use the name and key of this ledger, or a new folder for a new ledger",
        )
    try:
        checkpoint.verify(key.public)
    except BadSignature:
        if previous is None:
            raise
        checkpoint.verify(previous.public)
    if not entries.exists():
        raise LedgerDamaged(
            f"expected the {checkpoint.size} entries of the signed checkpoint, got no file",
            where=str(entries),
            hint="restore the ledger from a copy",
        )
    return checkpoint


def _refuse_interrupted_rotation(directory: Path, signed: int) -> None:
    """Raise if a rotation follows the checkpoint, because its old key must not sign it."""
    start = Index(directory).end(signed - 1) or 0
    for entry in layout.read_entries(directory / layout.ENTRIES, start=signed, offset=start):
        if MARK in entry.data:
            raise LedgerDamaged(
                "a rotation of the key was interrupted",
                where=str(directory),
                hint="run `sovctl audit rotate-key` again",
            )


def _start(directory: Path, origin: str, key: Signer) -> None:
    """Write an empty log. The checkpoint is last, so that an interrupted creation is repeated."""
    entries = directory / layout.ENTRIES
    if entries.exists() and entries.stat().st_size:
        raise LedgerDamaged(
            f"no signed checkpoint for {entries.stat().st_size} bytes of entries",
            where=str(directory),
            hint="restore the checkpoint from a copy",
        )
    os.close(os.open(entries, os.O_RDWR | os.O_CREAT, 0o640))
    write_atomic(directory / layout.VKEY, key.public.vkey(origin) + "\n")
    sync_folder(directory)
    checkpoint = sign_checkpoint(origin, 0, Frontier().root(), key)
    write_atomic(directory / layout.CHECKPOINT, checkpoint.text)


def _text_or_nothing(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""
