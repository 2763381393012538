"""uniform.gpu-model: all GPUs of a group are of the same model."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class GpuModelUniform(FleetCheck):
    id = "uniform.gpu-model"
    title = "all GPUs of a group are of the same model"
    remedy = "replace the GPU, or move the node to a node group of its own in site.yaml"
    kind, field = "gpu", "model"
