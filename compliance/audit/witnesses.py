"""Cosignatures of witnesses on checkpoints (C2SP tlog-cosignature), with the keys that an auditor kept.

A checkpoint with enough cosignatures counts as kept outside the site, wherever it is stored, because a witness signs no
checkpoint that is inconsistent with an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ..ledger.checkpoint import Checkpoint
from ..ledger.witness import cosigned_at
from ..tlog.policy import Policy
from ..verify_key import COSIGNATURE, BadSignature, VerifyKey
from .result import AuditResult


@dataclass(frozen=True)
class Witnesses:
    """Keys of witnesses, and the number of them that has to cosign."""

    keys: tuple[tuple[str, VerifyKey], ...] = ()
    """Name and public key."""
    required: int = 0
    """Number of cosignatures, at least 1 with keys."""
    policy: Policy | None = None
    """Decides instead of `required`; its witnesses are in `keys`."""

    def is_met(self, cosigned: Collection[VerifyKey]) -> bool:
        """Return whether cosignatures by these keys are enough."""
        return self.policy.is_met(cosigned) if self.policy else len(cosigned) >= self.required

    @property
    def expected(self) -> str:
        """The requirement, for messages."""
        return f"the quorum {self.policy.quorum}" if self.policy else f"{self.required} cosignatures"


def anchors(
    kept: Iterable[Checkpoint], on_site: Iterable[Checkpoint], witnesses: Witnesses, result: AuditResult
) -> list[Checkpoint]:
    """Return the checkpoints that count as kept outside the site.

    Args:
        kept: given by the auditor. With witness keys they need cosignatures, or they are findings.
        on_site: found on the site, with the signature of the log. They count only with cosignatures.
    """
    if not witnesses.keys:
        return list(kept)
    found = []
    for whose, is_needed, checkpoints in (("the kept", True, kept), ("the site's", False, on_site)):
        for each in checkpoints:
            cosigned = _cosignatures(each, whose, witnesses, result)
            if witnesses.is_met(cosigned):
                found.append(each)
            elif is_needed:
                message = (
                    f"{whose} checkpoint of {each.size} entries: expected {witnesses.expected}, got {len(cosigned)}"
                )
                result.find("witness", message, first_index=max(0, each.size - 1))
    return found


def _cosignatures(checkpoint: Checkpoint, whose: str, witnesses: Witnesses, result: AuditResult) -> set[VerifyKey]:
    """Return the keys with a valid cosignature, so that a witness counts once."""
    cosigned: set[VerifyKey] = set()
    for name, key in witnesses.keys:
        key_id = key.note_key_id(name, kind=COSIGNATURE)
        if not any((line.name, line.key_id) == (name, key_id) for line in checkpoint.note.signatures):
            continue
        try:
            time = datetime.fromtimestamp(cosigned_at(checkpoint, name, key), UTC)
        except (BadSignature, ValueError, OverflowError, OSError):
            message = f"{whose} checkpoint of {checkpoint.size} entries: the cosignature of {name} is forged"
            result.find("witness", message, first_index=max(0, checkpoint.size - 1))
            continue
        cosigned.add(key)
        result.facts.append(f"witness: {name} cosigned {checkpoint.size} entries at {time:%Y-%m-%dT%H:%M:%SZ}")
    return cosigned
