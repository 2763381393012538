"""gpu.temperature: every GPU is below the temperature at which it reduces its clock."""

from __future__ import annotations

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned, worst
from ...model.probe import ProbeOutput
from ...probes.gpu_report import count_findings, gpu_report
from ._gpu_check import Expected, GpuCheck

_LOW_MARGIN_C = "gpu.temperature.low-margin"


class GpuTemperature(GpuCheck):
    id, version, method = "gpu.temperature", 1, Method.TEST
    title = "every GPU is below its slowdown temperature"
    controls = ("pe-14", "si-13")
    severity = Severity.HIGH
    remedy = "check fans and inlet temperature of the node; drain it until the GPU has cooled down"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail at the slowdown temperature or above; warn within 5 degrees Celsius below it."""
        low_margin_c = expected.limit_of(_LOW_MARGIN_C)
        report = gpu_report(output)
        findings = list(count_findings(report, expected.gpu_count))
        margins = [_margin_c(gpu) for gpu in report.gpus]
        for gpu, margin in zip(report.gpus, margins, strict=True):
            if margin is None:
                got = "GPU is lost" if gpu.is_lost else "none"
                findings.append(unknown(f"the temperature of GPU {gpu.index}", got))
            elif margin <= 0:
                findings.append(failed(f"GPU {gpu.index} below its slowdown temperature", f"{margin} degrees left"))
            elif margin < low_margin_c:
                findings.append(warned(f"{low_margin_c} degrees left on GPU {gpu.index}", str(margin)))
        smallest = min((margin for margin in margins if margin is not None), default=0)
        return worst(findings, otherwise=f"expected {low_margin_c} degrees below slowdown, got {smallest} or more")


def _margin_c(gpu: Gpu) -> int | None:
    """Return degrees Celsius below slowdown; computed from the threshold for GPUs that report no margin."""
    temperatures = gpu.temperatures
    if temperatures.margin_c is not None:
        return temperatures.margin_c
    if temperatures.slowdown_c is None or temperatures.gpu_c is None:
        return None
    return temperatures.slowdown_c - temperatures.gpu_c
