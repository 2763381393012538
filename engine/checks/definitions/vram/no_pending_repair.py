"""vram.no-pending-repair: no memory channel waits for a repair, and no memory is unrepairable."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured


class NoPendingRepair(SettingsCheck):
    id, version, method = "vram.no-pending-repair", 1, Method.TEST
    title = "no memory repair is pending or impossible"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "reset the GPU, which repairs the channel; replace it if its memory is unrepairable"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if memory is unrepairable; warn if a repair waits. Drivers before 575 print none of these."""
        repair = gpu.settings.repair
        for part, word in (("channel", repair.channel_pending), ("TPC", repair.tpc_pending)):
            if word == "Yes":
                yield warned(f"no pending {part} repair on {name}", "pending; reset the GPU")
            elif word not in (None, "No", "N/A"):
                yield unknown(f"the {part} repair of {name}", word)
        if repair.unrepairable == "Yes":
            yield failed(f"repairable memory on {name}", "unrepairable")
        elif repair.unrepairable not in (None, "No", "N/A"):
            yield unknown(f"the memory repair of {name}", str(repair.unrepairable))
        if gpu.is_lost or gpu.ecc_mode is None:
            yield not_measured(f"the memory repair of {name}", gpu)

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "no pending repair"
