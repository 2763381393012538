"""gpu.ecc: error correction is on, and no uncorrectable error was counted since the driver was loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._gpu_check import Expected, GpuCheck


class GpuEcc(GpuCheck):
    id, version, method = "gpu.ecc", 1, Method.TEST
    title = "ECC is enabled, and no uncorrectable error was counted"
    controls = ("si-13", "si-7")
    severity = Severity.CRITICAL
    remedy = "enable ECC with `nvidia-smi -e 1`, reboot; reset a GPU with volatile errors; replace it if they return"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if ECC is enabled and the volatile uncorrectable count is 0; warn about errors of earlier loads."""
        report = gpu_report(output)
        return worst(
            [*count_findings(report, expected.gpu_count), *(each for gpu in report.gpus for each in _findings(gpu))],
            otherwise=f"expected ECC enabled and 0 uncorrectable errors, got both on {len(report.gpus)} GPUs",
        )


def _findings(gpu: Gpu) -> Iterator[Judgement]:
    name = f"GPU {gpu.index}"
    if gpu.ecc_mode is None:
        yield unknown(f"the ECC mode of {name}", "none")
    elif gpu.ecc_mode != "Enabled":
        yield failed(f"ECC Enabled on {name}", gpu.ecc_mode)
    if gpu.ecc.volatile_uncorrectable is None:
        yield unknown(f"the volatile error count of {name}", "GPU is lost" if gpu.is_lost else "none")
    elif gpu.ecc.volatile_uncorrectable > 0:
        yield failed(f"0 uncorrectable errors on {name} since driver load", str(gpu.ecc.volatile_uncorrectable))
    if gpu.ecc.sram_threshold_exceeded:
        yield failed(f"the SRAM error threshold of {name} not exceeded", "exceeded; replace the GPU")
    if gpu.ecc.aggregate_uncorrectable is None:
        yield unknown(f"the lifetime error count of {name}", "GPU is lost" if gpu.is_lost else "none")
    elif gpu.ecc.aggregate_uncorrectable > 0:
        yield warned(f"0 uncorrectable errors in the lifetime of {name}", str(gpu.ecc.aggregate_uncorrectable))
