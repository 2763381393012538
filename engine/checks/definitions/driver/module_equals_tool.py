"""driver.module-equals-tool: loaded module, its file on disk, and nvidia-smi have one version.

An upgrade without a reboot leaves the old module loaded, and the next start of a process fails.
"""

from __future__ import annotations

from ....facts.hardware.driver_files import parse_module_version
from ....facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections
from ._driver_check import DriverCheck, Expected

_TOOL = "NVIDIA-SMI version"


class ModuleEqualsTool(DriverCheck):
    id, version, method = "driver.module-equals-tool", 1, Method.TEST
    title = "loaded module, installed module and nvidia-smi have one version"
    controls = ("cm-2", "si-7")
    severity = Severity.HIGH
    remedy = "drain and reboot the node, which loads the installed module"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if all four versions are equal."""
        sections = parse_sections(output)
        loaded = parse_module_version(sections.text("module")).version
        installed = sections.text("installed").strip()
        reported = parse_nvidia_smi_xml(sections.text("gpus")).driver_version
        pairs = (line.partition(":") for line in sections.text("tools").splitlines())
        values = {name.strip(): value.strip() for name, _, value in pairs}
        findings = []
        for what, got in (
            ("the installed module", installed),
            ("the driver in nvidia-smi's report", reported),
            ("the program nvidia-smi", values.get(_TOOL, "")),
        ):
            if not got:
                findings.append(unknown(f"a version of {what}", "none"))
            elif got != loaded:
                findings.append(failed(f"{what} at the loaded {loaded}", got))
        return worst(findings, otherwise=f"expected one version of module and tools, got {loaded}")
