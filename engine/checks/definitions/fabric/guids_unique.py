"""fabric.guids-unique: no two devices of the fabric have the same GUID or LID."""

from __future__ import annotations

from ....fabric.findings import duplicate_identities
from ....fabric.topology import Fabric
from ...model.check import Judgement, Method, Severity, failed, worst
from ._fabric_check import Expected, FabricCheck


class GuidsUnique(FabricCheck):
    id, version, method = "fabric.guids-unique", 1, Method.TEST
    title = "GUIDs and LIDs of the fabric's devices are unique"
    controls = ("cm-8",)
    severity = Severity.HIGH
    remedy = "program the GUID of the replaced part, or restart the subnet manager for a duplicate LID"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for a GUID or LID of several devices."""
        findings = [failed(f"one device with {key}", ", ".join(names)) for key, names in duplicate_identities(fabric)]
        return worst(
            findings, otherwise=f"expected unique GUIDs and LIDs, got them on {len(fabric.discovery.devices)} devices"
        )
