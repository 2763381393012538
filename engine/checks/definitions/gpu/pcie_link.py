"""gpu.pcie-link: every GPU has the platform's number of PCIe lanes to the host."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._gpu_check import Expected, GpuCheck


class GpuPcieLink(GpuCheck):
    id, version, method = "gpu.pcie-link", 1, Method.TEST
    title = "every GPU has the full width of its PCIe link"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "reseat the GPU board or the riser during maintenance; a link at idle may be slower than under load"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail on fewer lanes; warn on a lower generation, because an idle link may run at a lower one."""
        report = gpu_report(output)
        generation, width = expected.pcie_gen, expected.pcie_width
        findings = list(count_findings(report, expected.gpu_count))
        if generation is None or width is None:
            return unknown("the platform's PCIe link", "none in the catalogue")
        for gpu in report.gpus:
            name, link = f"GPU {gpu.index}", gpu.pcie
            if link.width is None or link.generation is None:
                findings.append(unknown(f"the PCIe link of {name}", "GPU is lost" if gpu.is_lost else "none"))
                continue
            if link.width != width:
                findings.append(failed(f"{width} PCIe lanes to {name}", str(link.width)))
            if link.generation < generation:
                findings.append(
                    warned(f"PCIe generation {generation} to {name}", f"{link.generation}; measure it under load")
                )
        return worst(
            findings, otherwise=f"expected PCIe {generation} x{width}, got the same on {len(report.gpus)} GPUs"
        )
