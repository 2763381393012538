"""bandwidth.device-to-host: every GPU sends data to its host at the rate of the platform."""

from __future__ import annotations

from ....catalog.figure import Figure
from ....catalog.platforms import CheckProfile
from ._nvbandwidth_check import DEVICE_TO_HOST, NvbandwidthCheck


class DeviceToHost(NvbandwidthCheck):
    """Copies from each GPU to the memory of the host."""

    id, tests = "bandwidth.device-to-host", (DEVICE_TO_HOST,)
    title = "every GPU sends data to its host at the rate of the platform"
    remedy = "check link width and speed of the named GPU, its slot and riser, and the NUMA settings of the firmware"

    def figure(self, profile: CheckProfile) -> Figure | None:
        """Return the lowest rate in GB/s."""
        return profile.host_bandwidth_min_gb_s

    def place(self, test: str, row: int, column: int) -> str:
        """Return the two ends of a copy."""
        return f"from GPU {column} to the host"
