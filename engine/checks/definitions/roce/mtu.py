"""roce.mtu: network devices have the planned MTU, and RDMA uses the largest one that fits.

RDMA has MTUs of 256 to 4096 bytes; that of a network device includes about 58 bytes of headers of RoCE v2 (InfiniBand
Architecture Specification, annexes A16 and A17).
"""

from __future__ import annotations

from ....facts.fabric.roce import parse_active_mtus, parse_settings
from ....facts.numbers import integer
from ....spec.fabric import RoceNetwork
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...model.probe import Probe
from ...model.probe_sections import ProbeSections
from ._roce_check import Expected, RoceCheck, each_port

HEADERS = 96
"""Bytes that are kept for the headers of RoCE v2 with IPv6 and a VLAN tag (estimate of 2026-11-28)."""


class Mtu(RoceCheck):
    id, version, method = "roce.mtu", 1, Method.EXAMINE
    title = "MTUs of RoCE are those of the plan"
    controls = ("cm-2", "cm-6")
    severity = Severity.HIGH
    remedy = "set the planned MTU on the network device and on the switch port; different MTUs stop transfers"

    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Print the MTU of the network device."""
        return {"mtu": 'echo "mtu $(cat "$net/mtu")"'}

    def probe(self, expected: Expected) -> Probe:
        """Print also the active MTU of RDMA."""
        return Probe({**super().probe(expected).commands, "devices": "timeout 20 ibv_devinfo"})

    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Fail for another MTU of the device, and for a smaller one of RDMA."""
        findings = []
        largest = max(size for size in (256, 512, 1024, 2048, 4096) if size + HEADERS <= network.mtu)
        active = parse_active_mtus(sections.text("devices"))
        for interface, found in each_port(sections.text("mtu"), wanted, parse_settings):
            if not found.get("mtu", "").isdecimal():
                findings.append(unknown(f"the MTU of {interface}", found.get("mtu") or "none"))
            elif integer(found["mtu"]) != network.mtu:
                findings.append(failed(f"MTU {network.mtu} on {interface}", found["mtu"]))
            if interface.adapter not in active:
                findings.append(unknown(f"the active MTU of {interface}", "none"))
            elif active[interface.adapter] < largest:
                findings.append(failed(f"RDMA MTU {largest} on {interface}", str(active[interface.adapter])))
        return findings
