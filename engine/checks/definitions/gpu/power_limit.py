"""gpu.power-limit: every GPU may draw the power of the platform."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_TOLERANCE_W = 1.0  # DCGM 4.6.0, nvvs/diag-skus.yaml.in, rounds down by 1 W: 399, 1099, 1199


class PowerLimit(SettingsCheck):
    id, version, method = "gpu.power-limit", 1, Method.TEST
    title = "every GPU has the power limit of the platform"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "run `nvidia-smi -pl WATTS` with the default limit, or raise the limit in the power profile of the BMC"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if the enforced limit differs from the platform; warn if it differs from the default of the GPU."""
        limits = gpu.settings.power
        if expected.power_limit_w is None:
            yield unknown("the platform's power limit", "none in the catalogue")
        elif limits.current_w is None or limits.default_w is None:
            yield not_measured(f"the power limits of {name}", gpu)
        elif abs(limits.current_w - expected.power_limit_w) > _TOLERANCE_W:
            yield failed(f"{expected.power_limit_w:g} W on {name}", f"{limits.current_w:g} W")
        elif limits.current_w != limits.default_w:
            yield warned(f"the default limit, {limits.default_w:g} W, on {name}", f"{limits.current_w:g} W")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return f"{expected.power_limit_w:g} W"
