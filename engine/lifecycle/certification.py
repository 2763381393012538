"""Levels of a certification as a table, and the obstacles of a node. Pure.

A certification requires one run of `sovctl verify` after the last event of the node: all its checks without FAIL and
UNKNOWN, at least one result for each row of the level, and evidence that is not too old.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.support.canonical_json import digest

from ..spec.lifecycle import CertificationLevel
from .evidence import node_of


@dataclass(frozen=True)
class Requirement:
    """Results that a level requires.

    Args:
        prefixes: of check ids; one result of any of them is enough.
        name: for the message about an absent result.
        gpus_only: only on nodes with GPUs.
    """

    prefixes: tuple[str, ...]
    name: str
    gpus_only: bool = False


_HARDWARE = Requirement(("gpu.",), "hardware check", gpus_only=True)
_SOFTWARE = Requirement(("software.", "access.", "perimeter."), "check of software, access or firewall")

LEVELS: Mapping[CertificationLevel, tuple[Requirement, ...]] = {
    "verify": (_HARDWARE, _SOFTWARE),
    "burn-in": (
        _HARDWARE,
        _SOFTWARE,
        Requirement(("diagnostic.dcgm-r4",), "longest diagnostic of DCGM (diagnostic.dcgm-r4)", gpus_only=True),
        Requirement(("diagnostic.soak",), "soak (diagnostic.soak)", gpus_only=True),
    ),
}
"""Requirements by `lifecycle.certification`. `sovctl verify --level burn-in` gives all results."""


def obstacles(
    node: str,
    records: Collection[Evidence],
    *,
    since: str,
    level: CertificationLevel,
    has_gpus: bool,
    now: datetime,
    max_age: timedelta,
) -> list[str]:
    """Return the reasons against a certification of a node by one run; empty if it passes.

    Args:
        since: time of the node's last event; older evidence does not count.
        now: UTC.
    """
    own = [each for each in records if node_of(each) == node]
    if not own:
        return ["no evidence of this node"]
    found = [f"{each.check_id}: {each.verdict.value}" for each in own if each.verdict.blocks]
    oldest = min(each.started for each in own)
    # Times of evidence can have fractions of a second. Equal seconds count as older.
    if oldest <= since:
        found.append(f"the evidence is older than the last event of {since}")
    if now - datetime.fromisoformat(oldest) > max_age:
        hours = max_age / timedelta(hours=1)
        found.append(f"the evidence of {oldest} is older than lifecycle.max_evidence_age_h: {hours:g}")
    ran = {each.check_id for each in own}
    missing = sorted({each.check_id for each in records if node in each.population.declared} - ran)
    found += [f"{check}: no result" for check in missing]
    for each in LEVELS[level]:
        if (has_gpus or not each.gpus_only) and not any(check.startswith(each.prefixes) for check in ran):
            found.append(f"no result of a {each.name}, which level {level} requires")
    return found


def evidence_digest(node: str, records: Sequence[StoredEvidence]) -> str:
    """Return the digest of the evidence of a node: of the sorted digests of its records."""
    return digest(sorted(each.sha256 for each in records if node_of(each.evidence) == node))
