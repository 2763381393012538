"""The checkpoint of a ledger with the cosignatures of several witnesses, collected from their files.

    add_cosignatures(state / "ledger", [Path("usb/checkpoint-of-audit"), Path("usb/checkpoint-of-risk")])

The file `cosigned` of the ledger has the largest checkpoint, with one line per witness. Whether these are enough is
decided by the auditor's witness policy, which is kept outside the site.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from ..verify_key import parse_vkey
from . import format as layout
from .checkpoint import Checkpoint, parse_checkpoint
from .note import MAX_NOTE_BYTES
from .scanned import read_scanned
from .verify import verify_ledger

FILE = "cosigned"


def read_cosigned(directory: Path) -> Checkpoint | None:
    """Return the cosigned checkpoint of a ledger; None if it is absent or unreadable."""
    with contextlib.suppress(OSError, InputError):
        return parse_checkpoint(read_bounded(directory / FILE, MAX_NOTE_BYTES))
    return None


def add_cosignatures(directory: Path, files: Sequence[Path]) -> Checkpoint:
    """Add the cosignatures of checkpoints from witnesses, and return the cosigned checkpoint.

    Checkpoints of a smaller size than the largest are ignored; those of the same size are merged.

    Raises:
        InputError: unreadable, or a checkpoint that this ledger did not sign or is not consistent with.
    """
    log_key = parse_vkey((directory / layout.VKEY).read_text())
    found = [_read(path) for path in files]
    for path, each in zip(files, found, strict=True):
        if all(line.name == each.origin for line in each.note.signatures):
            raise InputError("expected a checkpoint with a cosignature, got one without", where=str(path))
        for finding in verify_ledger(directory, key=log_key, kept=[each]).findings:
            raise InputError(f"{finding.kind}: {finding.message}", where=str(path))
    known = read_cosigned(directory)
    largest = max([*found, *([known] if known else [])], key=lambda each: each.size)
    same = [each for each in [*([known] if known else []), *found] if each.note.text == largest.note.text]
    lines = dict.fromkeys(line for each in same for line in each.note.signatures)
    newest = {(line.name, line.key_id): line for line in lines}  # the last line of a witness, if it signed twice
    merged = replace(largest, note=replace(largest.note, signatures=tuple(newest.values())))
    write_atomic(directory / FILE, merged.text, mode=0o640)
    return merged


def _read(path: Path) -> Checkpoint:
    return parse_checkpoint(read_scanned(path, what="a checkpoint"), where=str(path))
