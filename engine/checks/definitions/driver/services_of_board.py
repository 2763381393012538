"""driver.services-of-board: the services that the board needs run: `engine/catalog/board_services.yaml`."""

from __future__ import annotations

from ....facts.units import parse_units
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected


class ServicesOfBoard(DriverCheck):
    id, version, method = "driver.services-of-board", 1, Method.TEST
    title = "the services of the GPU board run"
    controls = ("cm-6", "cm-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; `journalctl -u UNIT` states why the service stopped"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every unit is active and running."""
        units = {
            unit.id.removesuffix(".service"): unit for unit in parse_units(parse_sections(output).text("services"))
        }
        findings = []
        for name in expected.units:
            unit = units.get(name)
            if unit is None or unit.active is None:
                findings.append(unknown(f"the state of {name}", "none"))
            elif not unit.is_running:
                findings.append(failed(f"{name} running", f"{unit.load}, {unit.active}, {unit.sub}"))
        return worst(findings, otherwise=f"expected {', '.join(expected.units)} running, got all running")
