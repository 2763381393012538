"""uniform.nvme-firmware: all NVMe drives of one model have the same firmware."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class NvmeFirmwareUniform(FleetCheck):
    id = "uniform.nvme-firmware"
    title = "all NVMe drives of one model have the same firmware"
    remedy = "update the firmware of the named drives to the version of the others"
    kind, field = "nvme", "firmware"
