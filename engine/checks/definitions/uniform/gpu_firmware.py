"""uniform.gpu-firmware: all GPUs of one model have the same VBIOS."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class GpuFirmwareUniform(FleetCheck):
    id = "uniform.gpu-firmware"
    title = "all GPUs of one model have the same VBIOS"
    remedy = "update the GPU firmware of the named nodes to the version of the others"
    kind, field = "gpu", "firmware"
