"""Verifies a proof of a single entry (`.tlog-proof`), without the ledger and without other entries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from ..ledger.checkpoint import Checkpoint
from ..tlog.proof_file import SUFFIX, BadProof, EntryProof, parse_proof
from ..verify_key import BadSignature
from .files import MAX_TEXT_BYTES
from .inputs import Key
from .result import AuditResult
from .witnesses import Witnesses, anchors

AREA = "proof"


def is_proof(target: Path) -> bool:
    """Return whether the target is a file with the suffix of proofs."""
    return target.suffix == SUFFIX and target.is_file()


def audit_proof(
    target: Path, *, key: Key | None, kept: Sequence[Checkpoint] = (), witnesses: Witnesses = Witnesses()
) -> AuditResult:
    """Verify the proof of one entry.

    Args:
        key: name and public key of the ledger. A proof contains none.

    Raises:
        InputError: unreadable, not a proof, or no key.
    """
    proof = _read(target)
    if key is None:
        raise InputError(
            f"expected the public key of {proof.checkpoint.origin}, got none",
            where=str(target),
            hint="give --key with the log.vkey of the ledger, kept outside the site",
        )
    result, checkpoint = AuditResult(), proof.checkpoint
    try:
        if key[0] != checkpoint.origin:
            raise BadSignature(f"expected an entry of {key[0]}, got one of {checkpoint.origin}")
        proof.verify(key[1])
    except (BadSignature, BadProof) as error:
        result.find(AREA, error.message, file=target.name, first_index=proof.index)
        return result
    result.facts += [
        f"{AREA}: entry {proof.index} of {checkpoint.origin} is in the signed tree of {checkpoint.size} entries",
        f"{AREA}: the entry is {json.dumps(json.loads(proof.record), ensure_ascii=False, sort_keys=True)}",
    ]
    for each in anchors(kept, [checkpoint], witnesses, result):
        if (each.origin, each.size) != (checkpoint.origin, checkpoint.size):
            result.limits.append(
                f"a proof has no consistency with the kept checkpoint of {each.size} entries; verify the ledger with it"
            )
        elif each.root == checkpoint.root:
            result.is_anchored = True
        else:
            message = f"forked: expected the first {each.size} entries to have the kept root, got another"
            result.find("ledger", message, file=target.name, first_index=proof.index)
    result.limits.append("the proof shows one entry: it does not show that other entries exist or are missing")
    return result


def _read(target: Path) -> EntryProof:
    try:
        return parse_proof(read_bounded(target, MAX_TEXT_BYTES).decode())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable proof: {read_error_reason(error)}", where=str(target)) from error
    except InputError as error:
        raise InputError(error.message, where=error.where or str(target), hint=error.hint) from error
