"""Published reports for tests: invented evidence with failures, a waiver, an attestation and gaps."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from evidence_specimens import NODES, RUN_ID, fill, made, open_ledger

from sovctl.compliance.controls.exceptions import Attestation, Exceptions, Waiver
from sovctl.compliance.controls.framework import Pack, builtin_pack, load_pack
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.publish import Published, publish

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
WAIVED = Waiver(
    id="W-1",
    control="cm-11",
    check="software.packages-held",
    targets=("gpu-2",),
    reason="vendor case",
    compensating="watched nightly",
    requested_by="first person",
    approved_by="second person",
    approved=date(2026, 11, 1),
    expires=date(2026, 12, 1),
)
ATTESTED = Attestation(
    control="pe-3",
    statement="doors inspected",
    by="third person",
    attested=date(2026, 11, 10),
    expires=date(2027, 11, 1),
)
EXCEPTIONS = Exceptions(waivers=(WAIVED,), attestations=(ATTESTED,))
BAD = {"software.packages-held": "FAIL", "perimeter.no-way-out": "FAIL", "clock.synchronized": "UNKNOWN"}


def moderate() -> Pack:
    """The pack of most tests."""
    return load_pack(builtin_pack("nist-800-53-moderate"))


def items(pack: Pack, bad: dict[str, str] | None = None) -> list[Any]:
    """One record of every check on every node; checks in `bad` fail on one node, and one check is not run."""
    wrong = BAD if bad is None else bad
    return [
        made(check, node, wrong.get(check, "PASS") if node == "gpu-2" else "PASS", others=NODES)
        for check in sorted(pack.checks() - {"model.checksum"})
        for node in NODES
    ]


def report_of(
    state: Path,
    *,
    pack: Pack | None = None,
    bad: dict[str, str] | None = None,
    run_id: str = RUN_ID,
    now: datetime = NOW,
    exceptions: Exceptions | None = EXCEPTIONS,
) -> Published:
    """Store a run of evidence in a state folder, and publish its report."""
    pack = pack or moderate()
    fill(state, items(pack, bad), run_id)
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=pack,
            subject=Subject("test-site", "DE", "hybrid"),
            generated=now,
            tool_version="0.1.0",
            exceptions=exceptions,
        )
