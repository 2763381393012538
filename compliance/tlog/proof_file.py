"""Proofs of single entries as files (C2SP tlog-proof, https://c2sp.org/tlog-proof).

A proof contains the entry, its index, the audit path and the signed checkpoint, and no other entry. It is verified
without the ledger. The entry is the value `record` in the JSON of the `extra` line, which the standard leaves to the
application; the audit path authenticates it.

    text = proof_text(reader, 73894)
    proof = parse_proof(text)
    proof.verify(log_key)
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

from sovctl.support.errors import InputError, SovctlError
from sovctl.support.plain_json import decode_base64

from ..ledger.checkpoint import Checkpoint, parse_checkpoint
from ..ledger.format import Entry
from ..ledger.merkle import HASH_BYTES, leaf_hash
from ..ledger.proof import verify_inclusion
from ..ledger.reader import LedgerReader
from ..verify_key import VerifyKey

HEADER = "c2sp.org/tlog-proof@v1"
SUFFIX = ".tlog-proof"
MAX_PATH = 63  # hashes; C2SP tlog-tiles has levels 0 to 63
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})")


class BadProof(SovctlError):
    """The proof does not show that the entry is in the signed tree."""


@dataclass(frozen=True)
class EntryProof:
    """A proof, verified or not."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: Checkpoint
    record: bytes
    """Canonical JSON of the entry; empty if it is absent from the proof."""

    def verify(self, key: VerifyKey) -> None:
        """Verify the signature of the checkpoint and the inclusion of the entry.

        Raises:
            BadSignature: the checkpoint is not signed by `key`.
            BadProof: the entry is not at that index of the signed tree.
        """
        self.checkpoint.verify(key)
        if not self.record:
            raise BadProof("the proof has no entry")
        if not verify_inclusion(
            leaf_hash(self.record), self.index, self.checkpoint.size, self.path, self.checkpoint.root
        ):
            raise BadProof(f"expected entry {self.index} of the {self.checkpoint.size} signed entries, got another")


def proof_text(reader: LedgerReader, entry: Entry, *, checkpoint: Checkpoint | None = None) -> str:
    """Return the proof of an entry of a ledger.

    Args:
        checkpoint: of this ledger; default: its newest one.

    Raises:
        InputError: the checkpoint does not cover the entry.
    """
    checkpoint = checkpoint or reader.checkpoint
    if entry.leaf_index >= checkpoint.size:
        raise InputError(
            f"entry {entry.leaf_index} is newer than the checkpoint of {checkpoint.size} entries",
            hint="try again in a few seconds, when the writer has signed a new checkpoint",
        )
    path = reader.inclusion_proof(entry.leaf_index, size=checkpoint.size)
    extra = b'{"record":' + entry.data + b"}"
    lines = [HEADER, f"extra {base64.b64encode(extra).decode()}", f"index {entry.leaf_index}"]
    return "\n".join(lines + [base64.b64encode(value).decode() for value in path]) + "\n\n" + checkpoint.text


def parse_proof(text: str) -> EntryProof:
    """Parse a proof. Does not verify it.

    Raises:
        InputError: not a proof.
    """
    head, separator, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != HEADER or not separator:
        raise InputError(f"expected a proof ({HEADER}), got other text")
    extra = b""
    try:
        if lines and lines[0].startswith("extra "):
            extra = decode_base64(lines.pop(0).removeprefix("extra "))
        match = _INDEX.fullmatch(lines.pop(0) if lines else "")
        path = tuple(decode_base64(line) for line in lines)
    except ValueError:
        match, path = None, ()
    if match is None or len(path) > MAX_PATH or any(len(value) != HASH_BYTES for value in path):
        raise InputError("expected an index and the hashes of an audit path in the proof, got other lines")
    return EntryProof(int(match[1]), path, parse_checkpoint(note), _record_in(extra))


def _record_in(extra: bytes) -> bytes:
    """Return the bytes of `record`, the last value of the extra line's JSON object; empty without one.

    The bytes are not encoded again, because only they have the hash of the leaf.
    """
    try:
        value = json.loads(extra or b"{}")
    except (ValueError, RecursionError):
        raise InputError("expected JSON in the extra line of the proof, got other data") from None
    if not isinstance(value, dict) or not isinstance(value.get("record"), dict):
        return b""
    return extra.partition(b'"record":')[2][:-1]
