"""software.driver-exact: driver packages, loaded kernel module and nvidia-smi have the version of the lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....catalog.operating_systems import SupportedSystem
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....facts.packages.dpkg import installed_versions, parse_packages
from ....facts.unreadable import excerpt
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._lock_check import Expected, LockCheck, first_version, system_of


class DriverExact(LockCheck):
    id, version, method = "software.driver-exact", 1, Method.TEST
    title = "driver packages, kernel module and nvidia-smi have the version of the driver lock"
    controls = ("cm-2", "cm-6", "cm-8", "si-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan`, which lists the packages and the reboot, and `sovctl apply`"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every package, the loaded module and nvidia-smi have the expected version."""
        sections = parse_sections(output)
        row = system_of(sections.text("system"))
        if row is None:
            return unknown("a supported operating system", excerpt(sections.text("system")))
        wanted = expected.packages[row.id]
        findings = list(_package_findings(sections.text("packages"), wanted, row))
        module = _module_version(sections.text("module"))
        smi = parse_nvidia_smi_xml(sections.text("gpus")).driver_version
        for component, got in (("the loaded module", module), ("nvidia-smi", smi)):
            if got != expected.driver_version:
                findings.append(failed(f"{component} at {expected.driver_version}", got))
        return worst(
            findings,
            otherwise=f"expected lock {expected.lock}, got its {len(wanted)} packages, module and nvidia-smi at {smi}",
        )


def _package_findings(text: str, wanted: Mapping[str, str], row: SupportedSystem) -> Iterator[Judgement]:
    installed = installed_versions(parse_packages(text))
    for name, version in wanted.items():
        got = installed.get(name)
        if got is None or not row.accepts(version, got):
            yield failed(f"{name} {version}", got or "not installed")


def _module_version(text: str) -> str:
    """Parse a line such as `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build`."""
    line = next((line for line in text.splitlines() if line.startswith("NVRM version:")), "")
    return first_version(line.replace("x86_64", ""), "/proc/driver/nvidia/version")
