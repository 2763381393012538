"""bandwidth.host-to-device: every GPU receives data from its host at the rate of the platform."""

from __future__ import annotations

from ....catalog.figure import Figure
from ....catalog.platforms import CheckProfile
from ._nvbandwidth_check import HOST_TO_DEVICE, NvbandwidthCheck


class HostToDevice(NvbandwidthCheck):
    """Copies from the memory of the host to each GPU."""

    id, tests = "bandwidth.host-to-device", (HOST_TO_DEVICE,)
    title = "every GPU receives data from its host at the rate of the platform"
    remedy = "check link width and speed of the named GPU, its slot and riser, and the NUMA settings of the firmware"

    def figure(self, profile: CheckProfile) -> Figure | None:
        """Return the lowest rate in GB/s."""
        return profile.host_bandwidth_min_gb_s

    def place(self, test: str, row: int, column: int) -> str:
        """Return the two ends of a copy."""
        return f"from the host to GPU {column}"
