"""bus.acs-off-on-path: no bridge above a GPU or an adapter redirects their peer traffic to the processor.

ACS of other bridges is ignored: six bridges of a healthy XE9680 have it (capture of leptonai/gpud, read 2026-11-20),
and NVIDIA advises against one ACS value for all devices. A bridge without the capability cannot redirect.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.lspci import PciDevice, PciTree
from ...model.check import Judgement, Method, Severity, failed
from ._path_check import PathCheck


class AcsOffOnPath(PathCheck):
    id, version, method = "bus.acs-off-on-path", 1, Method.TEST
    title = "no bridge between GPUs and adapters redirects peer traffic (ACS)"
    controls = ("cm-6",)
    severity = Severity.MEDIUM
    remedy = "disable ACS in the firmware of the server, or the IOMMU; `lspci -vvv` shows ACSCtl of each bridge"

    def findings(self, tree: PciTree, device: PciDevice) -> Iterator[Judgement]:
        """Fail for each redirecting bridge."""
        for bridge in tree.redirecting(device.address):
            yield failed(
                f"no ACS on bridge {bridge.address} above {device.address}", "SrcValid, ReqRedir or CmpltRedir"
            )
