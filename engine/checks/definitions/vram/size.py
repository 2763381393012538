"""vram.size: every GPU has the memory of its model."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_SHARE = 0.98  # boards of one model differ by reserved pages; an estimate of 2026-11-28


class VramSize(SettingsCheck):
    id, version, method = "vram.size", 1, Method.TEST
    title = "every GPU has the memory of its model"
    controls = ("cm-8", "si-13")
    severity = Severity.HIGH
    remedy = "compare `nvidia-smi -q -d MEMORY` with the other GPUs; replace a GPU with less memory"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail below 98 % of the figure in the catalogue."""
        total = gpu.memory_total_mib
        if expected.memory_mib is None:
            yield unknown("the memory of the platform's GPUs", "none in the catalogue")
        elif total is None:
            yield not_measured(f"the memory of {name}", gpu)
        elif total < expected.memory_mib * _SHARE:
            yield failed(f"{expected.memory_mib} MiB on {name}", f"{total} MiB")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return f"{expected.memory_mib} MiB"
