"""A report with all seven states, on 12 nodes of which 9 are alike."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from evidence_specimens import fill, made, open_ledger

from sovctl.compliance.controls.exceptions import Attestation, Exceptions, Waiver
from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.controls.poam import CheckFacts, Terms
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.publish import Published, publish

NODES = [f"gpu-{number:02d}" for number in range(1, 12)] + ["services"]
ALIKE = [node for node in NODES if node not in ("gpu-02", "gpu-03", "gpu-07")]
FAILED = "perimeter.no-way-out"
WAIVED = "software.packages-held"
UNKNOWN = "clock.synchronized"
EXPIRED = "disk.encrypted"
OTHER = "site-own.check"
"""A check that no control needs."""
BAD = {
    (FAILED, "gpu-02"): "FAIL",
    (FAILED, "gpu-07"): "FAIL",
    (WAIVED, "gpu-03"): "FAIL",
    (UNKNOWN, "gpu-02"): "UNKNOWN",
    (OTHER, "gpu-02"): "FAIL",
}
PACK = load_pack(builtin_pack("nist-800-53-moderate"))
# The checks of a control with few checks report that they do not apply.
NOT_APPLICABLE = min(
    (
        c.mapping.checks
        for c in PACK.controls
        if c.mapping and not {FAILED, WAIVED, UNKNOWN, EXPIRED} & {*c.mapping.checks}
    ),
    key=len,
)
EXCEPTIONS = Exceptions(
    waivers=(
        Waiver(
            id="W-1",
            control="cm-11",
            check=WAIVED,
            targets=("gpu-03",),
            reason="driver rollback under a vendor case",
            compensating="the plan is compared with the node every night",
            requested_by="platform team",
            approved_by="security office",
            approved=date(2026, 11, 1),
            expires=date(2026, 12, 1),
        ),
    ),
    attestations=(
        Attestation(
            control="pe-3",
            statement="access to the data hall is inspected every quarter",
            by="facility office",
            attested=date(2026, 11, 10),
            expires=date(2027, 11, 1),
        ),
    ),
)
TERMS = Terms(
    facts={FAILED: CheckFacts(title="No route leaves the site", severity="critical", remedy="run `sovctl apply`")},
    owners={"perimeter.*": "network team", "*": "platform team"},
)


def record(check: str, node: str) -> tuple[Any, bytes]:
    """One record, with a command and a reason that contain the name of the node."""
    verdict = BAD.get((check, node), "N/A" if check in NOT_APPLICABLE else "PASS")
    expires = "2026-11-21T10:20:00Z" if check == EXPIRED else "2036-12-21T10:15:01Z"
    reason = f"expected no route, got {'default via 192.0.2.1' if verdict == 'FAIL' else 'none'} on {node}"
    fields = {"reason": reason, "command": f"ssh {node} ip -6 route show", "expires": expires}
    return made(check, node, verdict, others=NODES, simulated=check == FAILED, **fields)


def page_report(state: Path) -> Published:
    """Store the evidence in a state folder, and write the report."""
    checks = sorted({*PACK.checks(), OTHER} - {"model.checksum"})
    fill(state, [record(check, node) for check in checks for node in NODES])
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=PACK,
            subject=Subject("test-site", "DE", "hybrid"),
            generated=datetime(2026, 11, 21, 10, 30, tzinfo=UTC),
            tool_version="0.1.0",
            exceptions=EXCEPTIONS,
            terms=TERMS,
        )
