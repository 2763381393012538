"""Witness: cosigns a checkpoint only if it is consistent with the last one it signed (C2SP tlog-witness).

The site writes a request (the body of `add-checkpoint`), which is copied to the witness. The witness adds its
cosignature (C2SP tlog-cosignature, Ed25519). Later changes to the entries under that checkpoint are detectable, even if
they are signed with the key of the log.

    body = request(reader, old_size=120)
    cosigned = cosign(parse_request(body), last=last, log_key=log_key, name="auditor.example", key=key, now_s=...)
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64

from ..verify_key import COSIGNATURE, BadSignature, Signer, VerifyKey, checked_key_name
from .checkpoint import Checkpoint, parse_checkpoint
from .errors import WitnessRefused
from .merkle import EMPTY_ROOT
from .note import SignatureLine
from .proof import verify_consistency
from .reader import LedgerReader

MAX_PROOF_LINES = 63  # C2SP tlog-witness, "add-checkpoint"
_TIME_BYTES = 8


@dataclass(frozen=True)
class WitnessRequest:
    """A request of a site for a cosignature."""

    old_size: int
    """Size of the checkpoint that the witness signed last; 0 if none."""
    proof: tuple[bytes, ...]
    checkpoint: Checkpoint


def request(reader: LedgerReader, *, old_size: int) -> str:
    """Return the request for the newest checkpoint of the ledger, as text.

    Raises:
        InputError: the ledger has fewer than `old_size` entries.
    """
    checkpoint = reader.checkpoint
    if not 0 <= old_size <= checkpoint.size:
        raise InputError(f"expected an old size from 0 to {checkpoint.size}, got {old_size}")
    proof = [base64.b64encode(value).decode() for value in reader.consistency_proof(old_size)]
    return "\n".join([f"old {old_size}", *proof]) + "\n\n" + checkpoint.text


def parse_request(text: str) -> WitnessRequest:
    """Parse a request. Does not verify it.

    Raises:
        InputError: not a request.
    """
    head, _, rest = text.partition("\n\n")
    first, *lines = head.split("\n")
    size = first.removeprefix("old ")
    try:
        proof = tuple(decode_base64(line) for line in lines)
    except ValueError:
        proof = (b"",)
    is_size = first.startswith("old ") and size.isdecimal() and size.isascii() and str(int(size)) == size
    if not is_size or len(proof) > MAX_PROOF_LINES or any(len(value) != 32 for value in proof):
        raise InputError("expected a witness request (old size, proof, checkpoint)")
    return WitnessRequest(int(size), proof, parse_checkpoint(rest))


def cosign(
    asked: WitnessRequest, *, last: Checkpoint | None, log_key: VerifyKey, name: str, key: Signer, now_s: int
) -> Checkpoint:
    """Return the checkpoint with the added cosignature of the witness.

    Args:
        last: the checkpoint of this log that the witness signed last; None if none.
        log_key: public key of the log, from a trusted source.
        name: name of the witness.
        key: key of the witness, used for cosignatures only.
        now_s: POSIX time in seconds.

    Raises:
        BadSignature: the log did not sign the checkpoint.
        WitnessRefused: the checkpoint does not extend `last`. Keep the request as evidence of a changed log.
    """
    new = asked.checkpoint
    new.verify(log_key)
    old_size, old_root = (last.size, last.root) if last else (0, EMPTY_ROOT)
    if last and last.origin != new.origin:
        raise WitnessRefused(f"expected a checkpoint of {last.origin}, got one of {new.origin}")
    if new.size < old_size:
        raise WitnessRefused(f"expected at least the {old_size} entries signed before, got {new.size}")
    if asked.old_size != old_size:
        raise WitnessRefused(
            f"expected a request from size {old_size}, got one from {asked.old_size}",
            hint=f"write the request again with --old-size {old_size}",
        )
    if not verify_consistency(old_size, old_root, new.size, new.root, asked.proof):
        raise WitnessRefused(f"expected a log that extends the {old_size} entries signed before, got another")
    line = _cosignature(new, checked_key_name(name), key, now_s)
    return replace(new, note=replace(new.note, signatures=(*new.note.signatures, line)))


def cosigned_at(checkpoint: Checkpoint, name: str, key: VerifyKey) -> int:
    """Return the time of a witness's cosignature, in POSIX seconds.

    Raises:
        BadSignature: no valid cosignature by that witness.
    """
    key_id = key.note_key_id(name, kind=COSIGNATURE)
    for line in checkpoint.note.signatures:
        if (line.name, line.key_id) == (name, key_id):
            now_s = int.from_bytes(line.signature[:_TIME_BYTES], "big")
            key.verify(_message(checkpoint, now_s), line.signature[_TIME_BYTES:])
            return now_s
    raise BadSignature(f"expected a cosignature by {name}, got none")


def _cosignature(checkpoint: Checkpoint, name: str, key: Signer, now_s: int) -> SignatureLine:
    signature = now_s.to_bytes(_TIME_BYTES, "big") + key.sign(_message(checkpoint, now_s))
    return SignatureLine(name, key.public.note_key_id(name, kind=COSIGNATURE), signature)


def _message(checkpoint: Checkpoint, now_s: int) -> bytes:
    """C2SP tlog-cosignature, "Ed25519 signed message"."""
    return f"cosignature/v1\ntime {now_s}\n{checkpoint.note.text}".encode()
