"""Builds the state of a site with evidence of many nodes and checks, and publishes its reports in process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from sovctl.compliance.controls.exceptions import Exceptions, Waiver
from sovctl.compliance.controls.pack import Pack
from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.store import EvidenceStore
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.publish import Published, publish
from sovctl.compliance.signing import load_or_create

from ..invented_evidence import invented, whole

ORIGIN, RUN_ID = "sovctl.bench/site", "20261121T101500Z-0001"
NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
RAW_LINES = 12  # of each raw output: about 1 kB, the median of a lab run


def fill(state: Path, checks: Sequence[str], nodes: int) -> None:
    """Store one record of each check on each node; one node fails every tenth check."""
    with _ledger(state) as ledger:
        EvidenceStore(state / "evidence", ledger, run_id=RUN_ID).add_all(_records(checks, nodes))


def report(state: Path, pack: Pack, *, waived: str = "") -> Published:
    """Publish the report of a pack.

    Args:
        waived: id of a check; its failures are waived on the first control with it.
    """
    with _ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=pack,
            subject=Subject("bench", "DE", "on-prem"),
            generated=NOW,
            tool_version="0",
            exceptions=Exceptions(waivers=tuple(_waivers(pack, waived))),
        )


def failing(checks: Sequence[str]) -> list[str]:
    """Return the checks that fail on one node."""
    return sorted(checks)[::10]


def _ledger(state: Path) -> Ledger:
    return Ledger.open(state / "ledger", origin=ORIGIN, key=load_or_create(state / "keys" / "ledger.key"))


def _waivers(pack: Pack, check: str) -> Iterator[Waiver]:
    for control in pack.controls:
        if check and control.mapping and check in control.mapping.checks:
            yield Waiver(
                id="W-1",
                control=control.id,
                check=check,
                targets=("node-0000",),
                reason="vendor case",
                compensating="compared every night",
                requested_by="platform team",
                approved_by="security office",
                approved=date(2026, 11, 1),
                expires=date(2026, 12, 1),
            )
            return


def _records(checks: Sequence[str], nodes: int) -> Iterator[tuple[Evidence, bytes]]:
    names = [f"node-{number:04d}" for number in range(nodes)]
    population, broken = whole(names), set(failing(checks))
    for check in sorted(checks):
        for node in names:
            raw = "".join(
                f"{check} on {node}, line {number}: {'value ' * 10}\n" for number in range(RAW_LINES)
            ).encode()
            yield invented(check, node, population, raw, fails=check in broken and node == names[0])
