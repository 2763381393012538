"""diagnostic.memory-bandwidth: the memory of every GPU reaches the bandwidth of its type."""

from __future__ import annotations

from ....catalog.platforms import CheckProfile
from ...model.check import Severity
from ._target import TargetCheck


class MemoryBandwidth(TargetCheck):
    """DCGM measures; the catalogue's figure is the threshold.

    DCGM's own table has 2,333 MB/s for H200 (device 2335), which every H200 reaches (4.6.0, nvvs/diag-skus.yaml.in).
    """

    id, order = "diagnostic.memory-bandwidth", 100
    title = "the memory of every GPU reaches the bandwidth of its type"
    severity = Severity.HIGH
    remedy = "drain the node and reset the named GPU; replace it after a second failure"
    tests, limit_s = "memory_bandwidth", 900
    required = ("memory_bandwidth",)
    words, parameter, unit = "memory_bandwidth", "minimum_bandwidth", "MB/s"

    def figure(self, profile: CheckProfile) -> float | None:
        """Return the minimum in MB/s."""
        return self.number(profile.hbm_bandwidth_min_mb_s)
