"""Checkpoints: signed statements of a log's name, size and root hash (https://c2sp.org/tlog-checkpoint).

With a checkpoint kept outside the site, even on paper, an auditor can detect any later change to its entries.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64

from ..verify_key import Signer, VerifyKey
from .merkle import HASH_BYTES
from .note import Note, parse_note, sign_note

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Checkpoint:
    """A tree head. Its signature is unverified unless it comes from `sign_checkpoint` or passed `verify`."""

    origin: str
    """Name of the log."""
    size: int
    """Number of entries in the log."""
    root: bytes
    """RFC 6962 root hash over all entries, 32 bytes."""
    note: Note
    """The signed note with all signature lines: those of the log and of witnesses."""

    @property
    def text(self) -> str:
        """The signed note as text."""
        return str(self.note)

    def verify(self, key: VerifyKey) -> None:
        """Verify the signature of the log. The key name is the origin, as the standard recommends.

        Raises:
            BadSignature: no valid signature by `key`.
        """
        self.note.verify(self.origin, key)


def sign_checkpoint(origin: str, size: int, root: bytes, key: Signer) -> Checkpoint:
    """Return the signed checkpoint of `size` entries with root hash `root`."""
    note = sign_note(f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n", origin, key)
    return Checkpoint(origin, size, root, note)


def parse_checkpoint(content: str | bytes, *, where: str = "") -> Checkpoint:
    """Parse a checkpoint. Does not verify its signature.

    Raises:
        InputError: `content` is not a checkpoint.
    """
    try:
        note = parse_note(content)
        lines = note.text[:-1].split("\n")
        if len(lines) < 3 or not all(lines):
            raise InputError(f"expected origin, size and root hash on three lines, got {len(lines)} lines")
        origin, size, encoded_root = lines[:3]
        if not _SIZE.fullmatch(size):
            raise InputError(f"expected a decimal tree size, got {size[:24]!r}")
        try:
            root = decode_base64(encoded_root)
        except ValueError:
            root = b""
        if len(root) != HASH_BYTES:
            raise InputError("expected a base64 root hash of 32 bytes")
    except InputError as error:
        raise InputError(error.message, where=where, hint=error.hint or "give a file with a log checkpoint") from error
    return Checkpoint(origin, int(size), root, note)
