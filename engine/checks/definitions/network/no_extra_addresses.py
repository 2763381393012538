"""network.no-extra-addresses: the interface with the node's address has no other IPv4 address, and an MTU of 1500."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.network import parse_interfaces
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_MIN_MTU = 1500  # bytes, RFC 894 for Ethernet; smaller frames break connections that expect it


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Address of the node in site.yaml."""

    address: str


class NoExtraAddresses(Check[Expected]):
    id, version, method = "network.no-extra-addresses", 1, Method.EXAMINE
    title = "the management interface has the planned address only"
    controls = ("cm-6", "sc-7")
    severity = Severity.HIGH
    remedy = "remove the address from the network configuration of the node"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node. Interfaces for storage and compute have addresses that site.yaml does not name."""
        yield Expected(address=str(node.address))

    def probe(self, expected: Expected) -> Probe:
        """Print the interfaces with their addresses."""
        return Probe.of(interfaces="ip -json address show")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for another IPv4 address or a small MTU; warn about a global IPv6 address."""
        interfaces = parse_interfaces(parse_sections(output).text("interfaces"))
        own = [each for each in interfaces if expected.address in each.addresses]
        if len(own) != 1:
            return failed(f"one interface with {expected.address}", str(len(own)))
        (interface,) = own
        findings = [] if interface.is_up else [failed(f"{interface.name} up", "down")]
        for address in interface.addresses:
            if address != expected.address:
                verdict = warned if ":" in address else failed
                findings.append(verdict(f"{expected.address} alone on {interface.name}", address))
        if interface.mtu < _MIN_MTU:
            findings.append(failed(f"an MTU of at least {_MIN_MTU} bytes on {interface.name}", str(interface.mtu)))
        return worst(findings, otherwise=f"expected {expected.address} alone, got it on {interface.name}")
