"""disk.wear: no disk has used up the number of writes for which its vendor built it."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.host.disks import DiskHealth
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ._smart import Expected, SmartCheck

_USED_UP = "disk.wear.used-up"
_NEARLY = "disk.wear.nearly"


class DiskWear(SmartCheck):
    id, version, method = "disk.wear", 1, Method.TEST
    title = "endurance left on every disk"
    controls = ("ma-6", "si-13")
    severity = Severity.MEDIUM
    remedy = "plan the replacement of the disk before it becomes read-only"

    def findings(self, disk: DiskHealth, expected: Expected) -> Iterator[Judgement]:
        """Fail at 100 % of the endurance, warn at 80 %. An ATA disk need not report it."""
        used_up = expected.limit_of(_USED_UP)
        nearly = expected.limit_of(_NEARLY)
        if disk.used_percent is None:
            if disk.protocol == "NVMe":
                yield unknown(f"the used endurance of {disk.device}", "none")
        elif disk.used_percent >= used_up:
            yield failed(f"under {used_up} % of the endurance of {disk.device}", f"{disk.used_percent} %")
        elif disk.used_percent >= nearly:
            yield warned(f"under {nearly} % of the endurance of {disk.device}", f"{disk.used_percent} %")
