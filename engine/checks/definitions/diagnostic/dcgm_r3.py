"""diagnostic.dcgm-r3: every GPU passes DCGM's long diagnostic: arithmetic, memory bandwidth, stress and power."""

from __future__ import annotations

from ...model.check import Level, Severity
from ._dcgm_check import DEPLOYMENT, DcgmCheck


class DcgmR3(DcgmCheck):
    """DCGM states about 15 minutes (30 for eight GPUs: guess)."""

    id, level, order = "diagnostic.dcgm-r3", Level.FULL, 300
    title = "every GPU passes DCGM's long diagnostic: arithmetic, memory bandwidth, stress and power"
    severity = Severity.CRITICAL
    remedy = "drain the node, reset the named GPU, and run the check again; replace the GPU after a second failure"
    tests, limit_s = "3", 3600
    required = (DEPLOYMENT, "memory", "pcie", "diagnostic", "memory_bandwidth", "targeted_stress", "targeted_power")
    words = "the long diagnostic of DCGM"
