"""unit.none-failed: none of the units that sovctl manages or watches has failed."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ._watched import Expected, WatchedUnitsCheck, count_findings, watched_units

_STATES = frozenset({"active", "reloading", "inactive", "activating", "deactivating", "maintenance"})


class NoneFailed(WatchedUnitsCheck):
    id, version, method = "unit.none-failed", 1, Method.EXAMINE
    title = "no unit of the site has failed"
    controls = ("au-6", "si-2")
    severity = Severity.HIGH
    remedy = "read the cause with `journalctl -u UNIT` on the node, correct it, and restart the unit"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every unit has a known state other than failed. A check of its service requires it to run."""
        units = watched_units(output)
        findings = list(count_findings(units, expected))
        for unit in units:
            if unit.active == "failed" or unit.load in ("error", "bad-setting"):
                findings.append(failed(f"{unit.id} not failed", f"{unit.load}, {unit.active}"))
            elif unit.active not in _STATES:
                findings.append(unknown(f"the state of {unit.id}", str(unit.active)))
        return worst(findings, otherwise=f"expected no failed unit, got none of {len(units)}")
