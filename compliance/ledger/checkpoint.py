"""Checkpoints: "the log named so held so many entries with this root", signed (https://c2sp.org/tlog-checkpoint).

An auditor who keeps one, on paper if need be, can later tell that an entry before it was changed or cut.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from sovctl.support.canonical_json import decode_base64
from sovctl.support.errors import InputError

from ..signing import SigningKey, VerifyKey
from .merkle import HASH_BYTES
from .note import Note, parse_note, sign_note

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Checkpoint:
    """A tree head. Trust it only when it came from `sign_checkpoint` or passed `verify`."""

    origin: str
    """The log's name."""
    size: int
    """Entries in the log."""
    root: bytes
    """32 bytes, RFC 6962 over all of them."""
    note: Note
    """As it was read, with every signature line, our own and those of witnesses."""

    @property
    def text(self) -> str:
        """The signed note, ready to be written to a file or read out on a telephone."""
        return str(self.note)

    def verify(self, key: VerifyKey) -> None:
        """Return when the log's own key signed it; the key's name is the origin, as the standard recommends.

        Raises:
            BadSignature: it did not.
        """
        self.note.verify(self.origin, key)


def sign_checkpoint(origin: str, size: int, root: bytes, key: SigningKey) -> Checkpoint:
    """The checkpoint of `size` entries under `root`, signed."""
    note = sign_note(f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n", origin, key)
    return Checkpoint(origin, size, root, note)


def parse_checkpoint(content: str | bytes, *, where: str = "") -> Checkpoint:
    """The checkpoint in `content`; its signature is not verified yet.

    Raises:
        InputError: it is not a checkpoint.
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
            raise InputError("expected a base64 root hash of 32 bytes, got something else")
    except InputError as error:
        raise InputError(error.message, where=where, hint=error.hint or "this file is no log checkpoint") from error
    return Checkpoint(origin, int(size), root, note)
