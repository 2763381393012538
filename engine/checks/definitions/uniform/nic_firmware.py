"""uniform.nic-firmware: all network adapters of one model have the same firmware."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class NicFirmwareUniform(FleetCheck):
    id = "uniform.nic-firmware"
    title = "all network adapters of one model have the same firmware"
    remedy = "update the firmware of the named adapters with the version of the others, and reboot"
    kind, field = "nic", "firmware"
