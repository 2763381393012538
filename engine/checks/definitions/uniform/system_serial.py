"""uniform.system-serial: no serial number of a system occurs on two nodes."""

from __future__ import annotations

from ...model.check import Severity
from ...model.fleet_check import FleetCheck


class SystemSerialUnique(FleetCheck):
    id = "uniform.system-serial"
    title = "no serial number of a system occurs on two nodes"
    remedy = "correct the serial number with the vendor's tool; certificates and repair orders name it"
    kind, field = "system", "serial"
    is_unique = True
    severity = Severity.HIGH
