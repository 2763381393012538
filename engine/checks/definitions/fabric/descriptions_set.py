"""fabric.descriptions-set: every device has a name of its own, and no host has that of a fresh installation."""

from __future__ import annotations

from ....fabric.findings import default_hosts, unset_names
from ....fabric.topology import Fabric
from ....facts.fabric.links import Device
from ...model.check import Judgement, Method, Severity, failed, worst
from ._fabric_check import Expected, FabricCheck


class DescriptionsSet(FabricCheck):
    id, version, method = "fabric.descriptions-set", 1, Method.TEST
    title = "every device of the fabric has a node description"
    controls = ("cm-8",)
    severity = Severity.LOW
    remedy = "set the host name, and restart rdma-ndd on the host"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for defaults of the vendor and default host names; the reason names the switch port."""
        unset, hosts = unset_names(fabric), default_hosts(fabric)
        findings = [
            failed("a node description on every device", f"{len(unset)} unset: {', '.join(_places(fabric, unset))}")
        ] * bool(unset)
        findings += [
            failed("a host name on every adapter", f"{len(hosts)} defaults: {', '.join(_places(fabric, hosts))}")
        ] * bool(hosts)
        return worst(findings, otherwise=f"expected node descriptions, got {len(fabric.discovery.devices)}")


def _places(fabric: Fabric, devices: tuple[Device, ...]) -> list[str]:
    """Return where the first three devices are connected."""
    found = [
        f"{fabric.name(device.guid)} on {fabric.label(other)}"
        for device in devices[:3]
        for _, other, _ in fabric.neighbours(device.guid)[:1]
    ]
    return [*found, "..."] if len(devices) > len(found) else found
