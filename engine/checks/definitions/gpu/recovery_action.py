"""gpu.recovery-action: the driver requests no reset, drain or reboot for a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class RecoveryAction(SettingsCheck):
    id, version, method = "gpu.recovery-action", 1, Method.TEST
    title = "the driver requests no recovery action"
    controls = ("si-13", "si-2")
    severity = Severity.HIGH
    remedy = "drain the node, and reset the GPU or reboot the node as the driver requests"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail for a requested action; drivers before 570 print none, so the reset flag decides there."""
        action = gpu.recovery_action
        if gpu.is_lost or gpu.needs_reset:
            yield failed(f"no recovery action for {name}", "GPU is lost" if gpu.is_lost else "GPU requires reset")
        elif action is None:
            yield not_measured(f"the recovery action of {name}", gpu)
        elif action not in ("None", "N/A"):
            yield failed(f"no recovery action for {name}", action)

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "no recovery action"
