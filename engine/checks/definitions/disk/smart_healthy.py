"""disk.smart-healthy: every disk assesses itself as healthy, without critical warning and media errors."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.host.disks import DiskHealth
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ._smart import Expected, SmartCheck


class SmartHealthy(SmartCheck):
    id, version, method = "disk.smart-healthy", 1, Method.TEST
    title = "every disk reports good health"
    controls = ("cp-9", "si-13")
    severity = Severity.HIGH
    remedy = "replace the disk; install smartmontools if the command is missing"

    def findings(self, disk: DiskHealth, expected: Expected) -> Iterator[Judgement]:
        """Fail for a failed assessment, a critical warning or too few spare blocks; warn about media errors."""
        if disk.passed is None:
            yield unknown(f"the assessment of {disk.device}", "none")
        elif not disk.passed:
            yield failed(f"a passed assessment of {disk.device}", "failed")
        if disk.protocol == "NVMe" and disk.critical_warning is None:
            yield unknown(f"the critical warning of {disk.device}", "none")
        elif disk.critical_warning:
            yield failed(f"no critical warning of {disk.device}", f"bits {disk.critical_warning:#04x}")
        if disk.spare_percent is not None and disk.spare_limit_percent is not None:
            if disk.spare_percent < disk.spare_limit_percent:
                yield failed(f"{disk.spare_limit_percent} % spare blocks of {disk.device}", f"{disk.spare_percent} %")
        elif disk.protocol == "NVMe":
            yield unknown(f"the spare blocks of {disk.device}", "none")
        if disk.media_errors:
            yield warned(f"no media error of {disk.device}", str(disk.media_errors))
