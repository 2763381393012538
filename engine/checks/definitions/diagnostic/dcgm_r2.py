"""diagnostic.dcgm-r2: the memory and the host link of every GPU pass DCGM's medium diagnostic."""

from __future__ import annotations

from ...model.check import Level, Severity
from ._dcgm_check import DEPLOYMENT, DcgmCheck


class DcgmR2(DcgmCheck):
    """DCGM states about two minutes."""

    id, level, order = "diagnostic.dcgm-r2", Level.FULL, 20
    title = "the memory and the host link of every GPU pass DCGM's medium diagnostic"
    severity = Severity.CRITICAL
    remedy = "drain the node, reset the named GPU, and run the check again; replace the GPU after a second failure"
    tests, limit_s = "2", 900
    required = (DEPLOYMENT, "memory", "pcie")
    words = "the medium diagnostic of DCGM"
