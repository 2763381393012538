"""unit.no-foreign-drop-ins: only packages and sovctl configure the units that sovctl manages or watches."""

from __future__ import annotations

from ....resources.services.unit import is_masked, other_files
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe import ProbeOutput
from ._watched import Expected, WatchedUnitsCheck, count_findings, watched_units


class NoForeignDropIns(WatchedUnitsCheck):
    id, version, method = "unit.no-foreign-drop-ins", 1, Method.EXAMINE
    title = "only packages and sovctl configure the units of the site"
    controls = ("cm-3", "cm-6", "si-7")
    severity = Severity.HIGH
    remedy = "review the named file, remove it, run `systemctl daemon-reload`, and restart the unit"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if no unit has a foreign file, is masked, or differs from its files in memory."""
        units = watched_units(output)
        findings = list(count_findings(units, expected))
        for unit in units:
            findings += [failed(f"no other file of {unit.id}", path) for path in other_files(unit, expected.written)]
            if is_masked(unit):
                findings.append(failed(f"{unit.id} unmasked", "masked"))
            if unit.properties.get("NeedDaemonReload") == "yes":
                findings.append(failed(f"{unit.id} as in its files", "files that systemd has not read"))
        return worst(findings, otherwise=f"expected files of packages and sovctl only, got them for {len(units)} units")
