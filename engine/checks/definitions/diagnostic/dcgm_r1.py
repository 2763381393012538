"""diagnostic.dcgm-r1: DCGM finds no fault of deployment: libraries, permissions, persistence, pages, fabric manager."""

from __future__ import annotations

from ...model.check import Level, Severity
from ._dcgm_check import DEPLOYMENT, DcgmCheck


class DcgmR1(DcgmCheck):
    """The deployment tests take seconds."""

    id, level, order = "diagnostic.dcgm-r1", Level.FULL, 10
    title = "DCGM finds no fault of deployment: libraries, permissions, persistence, pages, fabric manager"
    severity = Severity.HIGH
    remedy = "correct the named setting with `sovctl plan` and `sovctl apply`; isolate the GPU if DCGM requires it"
    tests, limit_s = "1", 120
    required = (DEPLOYMENT,)
    words = "the deployment tests of DCGM"
