"""gpu.row-remap: no GPU has failed or pending remapping of memory rows."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._gpu_check import Expected, GpuCheck


class GpuRowRemap(GpuCheck):
    id, version, method = "gpu.row-remap", 1, Method.TEST
    title = "no GPU has a failed or pending row remapping"
    controls = ("si-13",)
    severity = Severity.CRITICAL
    remedy = "reset the GPU for a pending row; replace it after a failed remapping"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if a remapping failed (no spare row is left); warn if one is pending (the GPU needs a reset)."""
        report = gpu_report(output)
        return worst(
            [*count_findings(report, expected.gpu_count), *(each for gpu in report.gpus for each in _findings(gpu))],
            otherwise=f"expected no failed or pending row remapping, got none on {len(report.gpus)} GPUs",
        )


def _findings(gpu: Gpu) -> Iterator[Judgement]:
    name, rows = f"GPU {gpu.index}", gpu.remapped_rows
    if rows.failure is None or rows.pending is None:
        yield unknown(f"remapped_rows of {name}", "GPU is lost" if gpu.is_lost else "none")
    if rows.failure:
        yield failed(f"spare memory rows on {name}", "row remapping failed; replace the GPU")
    if rows.pending:
        yield warned(f"no pending row remapping on {name}", "pending; reset the GPU")
