"""driver.module-is-open: Blackwell GPUs run with the open kernel module, because no other one supports them."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.gpus import load_gpus
from ....facts.hardware.driver_files import parse_module_version
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

_BLACKWELL = 10  # compute capability 10.0 and higher; NVIDIA driver README, "Open Linux kernel modules"


class ModuleIsOpen(DriverCheck):
    id, version, method = "driver.module-is-open", 1, Method.TEST
    title = "Blackwell GPUs run with the open kernel module"
    controls = ("cm-2",)
    severity = Severity.HIGH
    remedy = "install the package of the driver with open kernel modules, and reboot"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs of compute capability 10 or higher."""
        gpu = load_gpus().get(site.context.platform(node).gpu or "")
        if gpu is not None and float(gpu.compute_capability or 0) >= _BLACKWELL:
            yield from super().expect(site, node)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the kernel states that the loaded module is the open one."""
        module = parse_module_version(parse_sections(output).text("module"))
        findings = (
            [] if module.is_open else [failed("the open kernel module", f"the proprietary one, {module.version}")]
        )
        return worst(findings, otherwise=f"expected the open kernel module, got it at {module.version}")
