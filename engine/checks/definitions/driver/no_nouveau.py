"""driver.no-nouveau: the driver nouveau, which binds GPUs before the vendor's driver, is not loaded."""

from __future__ import annotations

from ....facts.hardware.driver_files import parse_modules
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

_FOREIGN = ("nouveau", "nova_core", "nvidiafb")


class NoNouveau(DriverCheck):
    id, version, method = "driver.no-nouveau", 1, Method.TEST
    title = "no other driver for NVIDIA GPUs is loaded"
    controls = ("cm-7",)
    severity = Severity.MEDIUM
    remedy = "blacklist the module in /etc/modprobe.d, rebuild the initramfs and reboot"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the vendor's module is loaded and no other one."""
        loaded = parse_modules(parse_sections(output).text("modules"))
        findings = [failed(f"module {name} absent", "loaded") for name in _FOREIGN if name in loaded]
        if "nvidia" not in loaded:
            findings.append(unknown("module nvidia in the list", "absent"))
        return worst(findings, otherwise="expected no other driver for GPUs, got only module nvidia")
