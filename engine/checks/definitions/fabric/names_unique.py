"""fabric.names-unique: no two devices of the fabric have the same node description."""

from __future__ import annotations

from ....fabric.findings import duplicate_names
from ....fabric.topology import Fabric
from ...model.check import Judgement, Method, Severity, failed, worst
from ._fabric_check import Expected, FabricCheck


class NamesUnique(FabricCheck):
    id, version, method = "fabric.names-unique", 1, Method.TEST
    title = "names of the fabric's devices are unique"
    controls = ("cm-8",)
    severity = Severity.MEDIUM
    remedy = "give each host its own name, and set the node description again"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a name of several devices."""
        findings = [
            failed(f"one device with the name {name}", ", ".join(guids)) for name, guids in duplicate_names(fabric)
        ]
        return worst(findings, otherwise=f"expected unique names, got them on {len(fabric.discovery.devices)} devices")
