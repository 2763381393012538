"""uniform.gpu-serial: no GPU serial number occurs on two nodes."""

from __future__ import annotations

from ...model.check import Severity
from ...model.fleet_check import FleetCheck


class GpuSerialUnique(FleetCheck):
    id = "uniform.gpu-serial"
    title = "no GPU serial number occurs on two nodes"
    remedy = "compare the serial numbers with those on the boards; one of the two reports is not from that node"
    kind, field = "gpu", "serial"
    is_unique = True
    severity = Severity.HIGH
