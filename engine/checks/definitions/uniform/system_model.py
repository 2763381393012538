"""uniform.system-model: all nodes of a group are of the same model."""

from __future__ import annotations

from ...model.fleet_check import FleetCheck


class SystemModelUniform(FleetCheck):
    id = "uniform.system-model"
    title = "all nodes of a group are of the same model"
    remedy = "move the named node to a node group of its own in site.yaml"
    kind, field = "system", "model"
