"""uniform.nic-serial: no GUID of a network adapter occurs on two nodes."""

from __future__ import annotations

from ...model.check import Severity
from ...model.fleet_check import FleetCheck


class NicSerialUnique(FleetCheck):
    id = "uniform.nic-serial"
    title = "no GUID of a network adapter occurs on two nodes"
    remedy = "replace one of the adapters: two equal GUIDs break routing of the whole fabric"
    kind, field = "nic", "serial"
    is_unique = True
    severity = Severity.HIGH
