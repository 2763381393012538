"""software.fabric-manager-equals-driver: fabric manager runs, and has exactly the version of the driver."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.platforms import PlatformComponent
from ....facts.dpkg import installed_versions, parse_packages
from ....facts.gpu import parse_nvidia_smi_xml
from ....facts.units import parse_units
from ....spec import Node
from ...model.check import Judgement, Method, ProbeOutput, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import parse_sections
from ._lock_check import FABRIC_MANAGER, Expected, LockCheck, first_version


class FabricManagerEqualsDriver(LockCheck):
    id, version, method = "software.fabric-manager-equals-driver", 1, Method.TEST
    title = "fabric manager runs, and has the version of the driver"
    controls = ("cm-2", "cm-6")

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes that have NVSwitches."""
        if PlatformComponent.NVSWITCH in site.context.platform(node).parts:
            yield from super().expect(site, node)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if package and program of fabric manager have the driver's version, and the service runs."""
        sections = parse_sections(output)
        smi = parse_nvidia_smi_xml(sections.text("gpus")).driver_version
        program = first_version(sections.text("program"), "nv-fabricmanager --version")
        package = installed_versions(parse_packages(sections.text("packages"))).get(FABRIC_MANAGER)
        findings = []
        if package is None:
            findings.append(failed(f"package {FABRIC_MANAGER}", "not installed"))
        elif package.partition("-")[0] != smi:
            findings.append(failed(f"package {FABRIC_MANAGER} at the driver's {smi}", package))
        if program != smi:
            findings.append(failed(f"nv-fabricmanager at the driver's {smi}", program))
        (unit,) = parse_units(sections.text("services"))[:1]
        if unit.active is None:
            findings.append(unknown(f"the state of {FABRIC_MANAGER}", "none"))
        elif not unit.is_running:
            findings.append(failed(f"{FABRIC_MANAGER} running", f"{unit.load}, {unit.active}, {unit.sub}"))
        return worst(findings, otherwise=f"expected fabric manager to run at the driver's version {smi}, got {smi}")
