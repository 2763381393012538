"""gpu.mig-as-planned: MIG mode is as site.yaml states, now and after the next reset."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, warned
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class MigAsPlanned(SettingsCheck):
    id, version, method = "gpu.mig-as-planned", 1, Method.TEST
    title = "MIG mode is as planned, and no change of it is pending"
    controls = ("cm-6",)
    severity = Severity.HIGH
    remedy = "drain the node, then run `sovctl plan` and `sovctl apply`; reset the GPU if a change is pending"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail for another mode; warn if a change is pending."""
        wanted = "Enabled" if gpu.index in expected.divided_gpus else "Disabled"
        current, pending = gpu.mig_mode, gpu.settings.mig_pending
        if current is None or pending is None or (current == "N/A" and wanted == "Enabled"):
            yield not_measured(f"the MIG mode of {name}", gpu)
        elif current not in (wanted, "N/A"):
            yield failed(f"MIG {wanted} on {name}", current)
        elif pending != current:
            yield warned(f"no pending change of MIG on {name}", f"{current}, pending {pending}")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return f"MIG enabled on {len(expected.divided_gpus)} GPUs" if expected.divided_gpus else "MIG Disabled"
