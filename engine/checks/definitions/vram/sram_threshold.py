"""vram.sram-threshold: no GPU has exceeded the threshold of SRAM errors at which it must be replaced."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class SramThreshold(SettingsCheck):
    id, version, method = "vram.sram-threshold", 1, Method.TEST
    title = "no GPU has exceeded its SRAM error threshold"
    controls = ("si-13",)
    severity = Severity.CRITICAL
    remedy = "replace the GPU, and attach the report of `nvidia-bug-report.sh` to the request"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if the flag is set. Source: DCGM 4.6.0, level 1, and NVIDIA GPU memory error management."""
        if gpu.ecc.sram_threshold_exceeded is None:
            yield not_measured(f"the SRAM threshold flag of {name}", gpu)
        elif gpu.ecc.sram_threshold_exceeded:
            yield failed(f"the SRAM error threshold of {name} not exceeded", "exceeded")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "no SRAM threshold exceeded"
