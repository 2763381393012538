"""uniform.bios: all nodes of a group have the same BIOS."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class BiosUniform(FleetCheck):
    id = "uniform.bios"
    title = "all nodes of a group have the same BIOS"
    remedy = "update the BIOS of the named nodes to the version of the others"
    kind, field = "system", "firmware"
