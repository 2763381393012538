"""vram.ecc-setting-kept: ECC stays enabled after the next reset."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class EccSettingKept(SettingsCheck):
    id, version, method = "vram.ecc-setting-kept", 1, Method.TEST
    title = "ECC remains enabled after the next reset"
    controls = ("cm-6", "si-7")
    severity = Severity.HIGH
    remedy = "run `nvidia-smi -e 1` on the node"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if the pending mode is another one than Enabled."""
        pending = gpu.settings.ecc_pending
        if pending is None or pending == "N/A":
            yield not_measured(f"the pending ECC mode of {name}", gpu)
        elif pending != "Enabled":
            yield failed(f"pending ECC Enabled on {name}", pending)

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "ECC Enabled after a reset"
