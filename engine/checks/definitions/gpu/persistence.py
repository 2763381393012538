"""gpu.persistence: persistence mode is enabled, so the driver stays loaded while no process uses a GPU."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._gpu_check import Expected, GpuCheck


class GpuPersistence(GpuCheck):
    id, version, method = "gpu.persistence", 1, Method.TEST
    title = "persistence mode is enabled"
    controls = ("cm-6",)
    severity = Severity.LOW
    remedy = "run `sovctl plan` and `sovctl apply`, which start nvidia-persistenced"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if persistence mode is Enabled on every GPU."""
        report = gpu_report(output)
        findings = list(count_findings(report, expected.gpu_count))
        for gpu in report.gpus:
            if gpu.persistence_mode is None:
                findings.append(unknown(f"the persistence mode of GPU {gpu.index}", "none"))
            elif gpu.persistence_mode != "Enabled":
                findings.append(failed(f"persistence Enabled on GPU {gpu.index}", gpu.persistence_mode))
        return worst(findings, otherwise=f"expected persistence Enabled, got Enabled on {len(report.gpus)} GPUs")
