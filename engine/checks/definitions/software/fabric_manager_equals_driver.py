"""software.fabric-manager-equals-driver: fabric manager runs, and has exactly the version of the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....catalog.operating_systems import component_named, upstream
from ....catalog.platforms import PlatformComponent
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ....facts.packages.dpkg import installed_versions, parse_packages
from ....facts.units import parse_units
from ....facts.unreadable import excerpt
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._lock_check import FABRIC_MANAGER, Expected, LockCheck, first_version, system_of


class FabricManagerEqualsDriver(LockCheck):
    id, version, method = "software.fabric-manager-equals-driver", 1, Method.TEST
    title = "fabric manager runs, and has the version of the driver"
    controls = ("cm-2", "cm-6")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; `journalctl -u nvidia-fabricmanager` states why it stopped"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes that have NVSwitches."""
        if PlatformComponent.NVSWITCH in site.context.platform(node).parts:
            yield from super().expect(site, node)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if package and program of fabric manager have the driver's version, and the service runs."""
        sections = parse_sections(output)
        smi = parse_nvidia_smi_xml(sections.text("gpus")).driver_version
        program = first_version(sections.text("program"), "nv-fabricmanager --version")
        row = system_of(sections.text("system"))
        if row is None:
            return unknown("a supported operating system", excerpt(sections.text("system")))
        installed = installed_versions(parse_packages(sections.text("packages")))
        findings = []
        for name in _packages(expected.packages[row.id]):
            if name not in installed:
                findings.append(failed(f"package {name}", "not installed"))
            elif upstream(installed[name]) != smi:
                findings.append(failed(f"package {name} at the driver's {smi}", installed[name]))
        if program != smi:
            findings.append(failed(f"nv-fabricmanager at the driver's {smi}", program))
        (unit,) = parse_units(sections.text("services"))[:1]
        if unit.active is None:
            findings.append(unknown(f"the state of {FABRIC_MANAGER}", "none"))
        elif not unit.is_running:
            findings.append(failed(f"{FABRIC_MANAGER} running", f"{unit.load}, {unit.active}, {unit.sub}"))
        return worst(findings, otherwise=f"expected fabric manager to run at the driver's version {smi}, got {smi}")


def _packages(wanted: Mapping[str, str]) -> list[str]:
    """Return the names of the fabric manager's packages; other systems add the driver's branch to the name."""
    return [name for name in wanted if (component := component_named(name)) and component.id == "fabric-manager"]
