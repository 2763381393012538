"""bmc.separate-network: the management controller has an address outside the networks of the node.

If the node and its controller are in one network, a process on the node reaches the controllers of all nodes. The
addresses come from the controller itself, and the networks of the node from its kernel. Flows of site.yaml with the
service `bmc` name the networks of the controllers; with them, every address must be in one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_interface

from ....facts.management.ipmi_controller import parse_lan_channels
from ....facts.unreadable import Unreadable
from ....spec import Node
from ....spec.perimeter import Service
from ...model.check import Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.ipmi import CHANNELS
from ...probes.own_board import OwnBoardCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Networks of the controllers; empty if site.yaml names none."""

    networks: tuple[str, ...] = ()


class SeparateNetwork(OwnBoardCheck[Expected]):
    id, version, method = "bmc.separate-network", 1, Method.EXAMINE
    title = "the management controller is in a network of its own"
    controls = ("sc-3", "sc-7", "sc-7.13")
    severity = Severity.HIGH
    remedy = "connect the controller to the management network of controllers, and set its address and mask"

    def expected(self, site: CheckContext, node: Node) -> Expected:
        """Return the networks of flows with the service `bmc`."""
        flows = [each for each in site.context.spec.perimeter.flows if each.service is Service.BMC]
        return Expected(networks=tuple(str(address) for flow in flows for address in flow.addresses))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the channels of the controller, and the addresses of the node."""
        return {"channels": CHANNELS, "addresses": "ip -j -4 address show scope global"}

    def judge_board(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Fail for an address in a network of the node, or outside the planned networks."""
        channels = parse_lan_channels(sections.text("channels"))
        own = _networks(sections.text("addresses"))
        planned = [IPv4Network(each) for each in expected.networks]
        addresses = [each.address for each in channels if each.address is not None]
        findings = [] if addresses else [unknown("an address of the controller", "none")]
        for address in addresses:
            shared = [str(each) for each in own if address.ip in each or each.overlaps(address.network)]
            if shared:
                findings.append(failed("a controller outside the networks of the node", f"{address} in {shared[0]}"))
            if planned and not any(address.ip in each for each in planned):
                findings.append(failed(f"a controller in {', '.join(expected.networks)}", str(address)))
        return worst(findings, otherwise=f"expected a network of its own, got {', '.join(map(str, addresses))}")


def _networks(text: str) -> list[IPv4Network]:
    """Return the networks of the node.

    Raises:
        Unreadable: no address, or another form.
    """
    try:
        found = [
            ip_interface(f"{address['local']}/{address['prefixlen']}").network
            for link in json.loads(text)
            for address in link["addr_info"]
            if address["family"] == "inet"
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("JSON of addresses", text, where="ip address") from None
    networks = [each for each in found if isinstance(each, IPv4Network) and each.prefixlen < _HOST]
    if not networks:
        raise Unreadable("a network of the node", text, where="ip address")
    return networks


_HOST = 32
