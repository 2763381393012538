"""bus.full-speed-on-path: no link between the processor and a GPU or an adapter is downgraded.

Links of the chipset and of the BMC are downgraded on healthy servers, and are ignored. A GPU can lower the speed of its
own link at idle, so that this is a warning; its width stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.lspci import PciDevice, PciTree
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ._path_check import PathCheck


class FullSpeedOnPath(PathCheck):
    id, version, method = "bus.full-speed-on-path", 1, Method.TEST
    title = "no link on the path of a GPU or an adapter is downgraded"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "reseat the board or the riser of the named link during maintenance; compare the slot with a healthy node"

    def findings(self, tree: PciTree, device: PciDevice) -> Iterator[Judgement]:
        """Fail for a downgraded bridge above the device; warn for the link of the device itself."""
        if device.is_downgraded is None:
            yield unknown(f"the link of {device.address}", "none")
        elif device.is_downgraded:
            yield warned(f"the full link of {device.address}", "downgraded; measure it under load")
        for bridge in tree.path(device.address):
            if bridge.is_downgraded:
                yield failed(f"the full link of bridge {bridge.address} above {device.address}", "downgraded")
