"""diagnostic.dcgm-r4: every GPU passes DCGM's longest diagnostic: also all memory patterns and power pulses."""

from __future__ import annotations

from ...model.check import Level, Severity
from ._dcgm_check import DEPLOYMENT, DcgmCheck


class DcgmR4(DcgmCheck):
    """DCGM states about 90 minutes."""

    id, level, order = "diagnostic.dcgm-r4", Level.BURN_IN, 900
    title = "every GPU passes DCGM's longest diagnostic: also all memory patterns and power pulses"
    severity = Severity.CRITICAL
    remedy = "isolate the node and replace the named GPU, or its power supply after a failed pulse_test"
    tests, limit_s = "4", 14400
    required = (
        DEPLOYMENT,
        "memory",
        "pcie",
        "diagnostic",
        "memory_bandwidth",
        "targeted_stress",
        "targeted_power",
        "memtest",
        "pulse_test",
    )
    words = "the longest diagnostic of DCGM"
    may_repeat = False
