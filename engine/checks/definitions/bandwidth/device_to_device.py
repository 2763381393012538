"""bandwidth.device-to-device: every pair of GPUs exchanges data at the rate of the platform."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.figure import Figure
from ....catalog.platforms import CheckProfile
from ....spec import Node
from ...model.check_context import CheckContext
from ._nvbandwidth_check import PEER_READ, PEER_WRITE, Expected, NvbandwidthCheck


class DeviceToDevice(NvbandwidthCheck):
    """Reads and writes between each two GPUs, one pair at a time."""

    id, tests = "bandwidth.device-to-device", (PEER_READ, PEER_WRITE)
    title = "every pair of GPUs exchanges data at the rate of the platform"
    remedy = "check NVLink of both named GPUs with `nvlink.*`; reset the GPU that slow pairs have in common"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with at least two GPUs."""
        return super().expect(site, node) if site.context.platform(node).gpus > 1 else iter(())

    def figure(self, profile: CheckProfile) -> Figure | None:
        """Return the lowest rate in GB/s."""
        return profile.peer_bandwidth_min_gb_s

    def place(self, test: str, row: int, column: int) -> str:
        """Return both GPUs of a copy."""
        verb = "reads from" if test == PEER_READ else "writes to"
        return f"where GPU {row} {verb} GPU {column}"

    def rows(self, gpu_count: int) -> int:
        """Return the number of rows of a matrix: the GPUs."""
        return gpu_count
