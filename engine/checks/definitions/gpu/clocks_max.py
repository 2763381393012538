"""gpu.clocks-max: every GPU can reach the maximum clock of the platform."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class ClocksMax(SettingsCheck):
    id, version, method = "gpu.clocks-max", 1, Method.TEST
    title = "no GPU is limited to a lower clock than the platform has"
    controls = ("cm-6", "si-13")
    severity = Severity.MEDIUM
    remedy = (
        "run `nvidia-smi -rgc` and `nvidia-smi -rac` to remove limits of the clock; compare the VBIOS with other nodes"
    )

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if the maximum or the customer boost clock is lower than that of the platform."""
        clocks = gpu.settings.clocks
        if expected.sm_clock_mhz is None:
            yield unknown("the platform's maximum clock", "none in the catalogue")
        elif clocks.sm_mhz is None:
            yield not_measured(f"the maximum clock of {name}", gpu)
        elif clocks.sm_mhz < expected.sm_clock_mhz:
            yield failed(f"at least {expected.sm_clock_mhz} MHz on {name}", f"{clocks.sm_mhz} MHz")
        elif clocks.customer_boost_mhz is not None and clocks.customer_boost_mhz < expected.sm_clock_mhz:
            yield failed(
                f"a customer boost clock of {expected.sm_clock_mhz} MHz on {name}", f"{clocks.customer_boost_mhz} MHz"
            )

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return f"{expected.sm_clock_mhz} MHz"
