"""driver.modules-loaded: the kernel modules of the driver and of RDMA are loaded."""

from __future__ import annotations

from ....facts.hardware.driver_files import parse_modules
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected


class ModulesLoaded(DriverCheck):
    id, version, method = "driver.modules-loaded", 1, Method.TEST
    title = "the kernel modules of the driver and of RDMA are loaded"
    controls = ("cm-6",)
    severity = Severity.HIGH
    remedy = "run `modprobe` for the module; without it run `sovctl plan`, which lists missing packages"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every module is loaded."""
        loaded = parse_modules(parse_sections(output).text("modules"))
        findings = [failed(f"module {name} loaded", "absent") for name in expected.modules if name not in loaded]
        return worst(findings, otherwise=f"expected {', '.join(expected.modules)}, got all of them loaded")
