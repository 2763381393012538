"""gpu.no-throttle: no GPU has reduced its clock because of heat, power supply or a fault."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_HARDWARE = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_SOFTWARE = ("sw_thermal_slowdown",)


class NoThrottle(SettingsCheck):
    id, version, method = "gpu.no-throttle", 1, Method.TEST
    title = "no GPU reduces its clock because of heat or power supply"
    controls = ("pe-14", "si-13")
    severity = Severity.HIGH
    remedy = "check fans, inlet temperature and power supplies; drain the node while a hardware slowdown is active"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail for a slowdown by hardware; warn for one by software."""
        reasons, known = gpu.settings.clock_reasons, gpu.settings.clock_reasons_known
        if reasons is None:
            yield not_measured(f"the clock event reasons of {name}", gpu)
            return
        for reason in (*_HARDWARE, *_SOFTWARE):
            if reason not in known:
                yield unknown(f"clock event reason {reason} of {name}", "none")
        for reason in sorted(reasons):
            if reason in _HARDWARE:
                yield failed(f"no {reason} on {name}", "Active")
            elif reason in _SOFTWARE:
                yield warned(f"no {reason} on {name}", "Active")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "no slowdown"
