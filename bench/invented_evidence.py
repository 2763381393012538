"""Invented evidence of benches: complete records of simulated nodes."""

from __future__ import annotations

from collections.abc import Iterable

from sovctl.compliance.evidence.record import WHOLE, Actor, Clock, Evidence, Population, Tool
from sovctl.compliance.verdict import Verdict
from sovctl.support.canonical_json import sha256_hex

_ACTOR = Actor(user="bench", account="bench", host="localhost")
_TOOL = Tool(version="0", record_sha256="7" * 64, is_editable=False)
_CLOCK = Clock(measured="2026-11-21T10:14:59Z", offset_us="not measured", source="invented evidence")


def whole(nodes: Iterable[str]) -> Population:
    """Return a population of which every node was sampled and discovered."""
    names = tuple(sorted(nodes))
    return Population.of(
        query="every node",
        declared=names,
        sample_rule=WHOLE,
        sampled=names,
        discovery="every node",
        discovered=names,
    )


def invented(
    check: str,
    node: str,
    population: Population,
    raw: bytes,
    *,
    fails: bool,
    started: str = "2026-11-21T10:15:00Z",
    ended: str = "2026-11-21T10:15:01.5Z",
    expires: str = "2026-12-21T10:15:01Z",
) -> tuple[Evidence, bytes]:
    """Return a record, and its raw output."""
    evidence = Evidence(
        check_id=check,
        check_version=1,
        check_sha256="4" * 64,
        title=f"{check} holds",
        method="TEST",
        target=node,
        population=population,
        command=f"probe {check}",
        exit_code=0,
        raw_sha256=sha256_hex(raw),
        started=started,
        ended=ended,
        expires=expires,
        verdict=Verdict.FAIL if fails else Verdict.PASS,
        rule="judge of the check on complete output",
        reason="expected 1, got 1",
        simulated=True,
        previous="none",
        actor=_ACTOR,
        tool=_TOOL,
        clock=_CLOCK,
        spec_sha256="5" * 64,
        plan_sha256="6" * 64,
        apply_run="20261121T090000.000Z-aaaaaaaa",
    )
    return evidence, raw
