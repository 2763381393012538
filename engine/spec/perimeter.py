"""Schema of the section `perimeter`: the firewall of every node, its flows, exceptions and routes.

- A flow is a connection with a service inside the site, such as a SIEM or a name server. Its addresses are private.
- An exception is a connection to an address outside the site, with a reason, an approver and an expiry date.
- A route is a route of nodes to further networks, such as the default route. sovctl checks routes and sets none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Annotated, Literal

from pydantic import Field

from .types import Day, Name, Port, SpecModel

Protocol = Literal["tcp", "udp"]


class Service(StrEnum):
    """Service inside the site that nodes exchange packets with."""

    SIEM = "siem"
    NFS = "nfs"
    OBJECT_STORAGE = "object-storage"
    LDAP = "ldap"
    OIDC = "oidc"
    MONITORING = "monitoring"
    BMC = "bmc"
    NTP = "ntp"
    DNS = "dns"
    BACKUP = "backup"


@dataclass(frozen=True)
class ServiceDefaults:
    """Defaults of a service.

    Args:
        direction: `out`: the node connects to the service. `in`: the service connects to the node.
        ports: empty if site.yaml must name them.
        source: of ports and protocols.
    """

    direction: Literal["in", "out"]
    protocols: tuple[Protocol, ...]
    ports: tuple[int, ...]
    source: str


SERVICES: dict[Service, ServiceDefaults] = {
    Service.SIEM: ServiceDefaults("out", ("tcp",), (6514,), "syslog over TLS: RFC 5425, 4.1"),
    Service.NFS: ServiceDefaults("out", ("tcp",), (2049,), "NFS version 4: RFC 8881, 2.9.3"),
    Service.OBJECT_STORAGE: ServiceDefaults("out", ("tcp",), (443,), "https: RFC 9110, 4.2.2"),
    Service.LDAP: ServiceDefaults("out", ("tcp",), (636,), "ldaps: IANA service names and port numbers"),
    Service.OIDC: ServiceDefaults("out", ("tcp",), (443,), "https: RFC 9110, 4.2.2"),
    Service.MONITORING: ServiceDefaults("in", ("tcp",), (9100, 9400), "defaults of node_exporter and dcgm-exporter"),
    Service.BMC: ServiceDefaults("out", ("tcp",), (443,), "Redfish over https: DMTF DSP0266"),
    Service.NTP: ServiceDefaults("out", ("udp",), (123,), "NTP version 4: RFC 5905, 16"),
    Service.DNS: ServiceDefaults("out", ("udp", "tcp"), (53,), "RFC 1035, 4.2; RFC 7766, 5"),
    Service.BACKUP: ServiceDefaults("out", ("tcp",), (), "differs by product"),
}


class Flow(SpecModel):
    """Connections between nodes and one service inside the site."""

    name: Name
    """Name of the flow in plans and reports."""
    service: Service
    """Service: `siem`, `nfs`, `object-storage`, `ldap`, `oidc`, `monitoring`, `bmc`, `ntp`, `dns` or `backup`. It
    determines the defaults of `direction`, `protocols` and `ports`."""
    addresses: Annotated[list[IPv4Network | IPv6Network], Field(min_length=1)]
    """Private addresses or networks of the service."""
    direction: Literal["in", "out"] | None = None
    """`out`: nodes connect to the service. `in`: the service connects to nodes. Default: `in` for `monitoring`,
    otherwise `out`."""
    protocols: list[Protocol] = Field(default_factory=list)
    """Transport protocols. Empty: those of the service."""
    ports: list[Port] = Field(default_factory=list)
    """Destination ports. Empty: those of the service; `backup` has no default."""
    node_groups: list[Name] = Field(default_factory=list)
    """Node groups whose nodes have the flow. Empty: all."""

    @property
    def is_inbound(self) -> bool:
        """Whether the service connects to the node."""
        return (self.direction or SERVICES[self.service].direction) == "in"

    def used_protocols(self) -> tuple[Protocol, ...]:
        """Return the transport protocols, with the defaults of the service."""
        return tuple(self.protocols) or SERVICES[self.service].protocols

    def used_ports(self) -> tuple[int, ...]:
        """Return the destination ports, with the defaults of the service; empty if site.yaml must name them."""
        return tuple(self.ports) or SERVICES[self.service].ports


class PerimeterException(SpecModel):
    """A firewall exception for outgoing connections to one address and port, with an approver and an expiry date."""

    name: Name
    """Name of the exception in plans and reports."""
    source: Literal["gateway"] = "gateway"
    """Component that may use the exception. Only the gateway may connect to outside addresses."""
    address: IPv4Address
    """Destination address."""
    port: Port = 443
    """Destination TCP port."""
    reason: Annotated[str, Field(min_length=10, max_length=500)]
    """Reason for the exception, for auditors."""
    approved_by: Annotated[str, Field(min_length=3, max_length=100)]
    """Role or person who approved it."""
    expires: Day
    """Last day (UTC) of validity. Afterwards site.yaml is rejected until the exception is renewed or removed."""


class PermittedRoute(SpecModel):
    """A route of nodes to networks that the firewall has no rule for. sovctl checks it and does not set it."""

    destination: IPv4Network | IPv6Network
    """Destination network; `0.0.0.0/0` or `::/0` for the default route. It includes more specific routes."""
    via: IPv4Address | IPv6Address
    """Address of the router, private or link-local."""
    reason: Annotated[str, Field(min_length=10, max_length=500)]
    """Reason for the route, for auditors."""
    node_groups: list[Name] = Field(default_factory=list)
    """Node groups whose nodes may have the route. Empty: all."""


class Perimeter(SpecModel):
    """Firewall of every node: drops incoming and outgoing packets by default. Open ports follow from the rest of the
    file and from this section."""

    management: Annotated[list[IPv4Network], Field(min_length=1)]
    """Networks of the controllers, from which ssh is accepted. `plan` requires this controller's address in them."""
    clients: list[IPv4Network] = Field(default_factory=list)
    """Networks from which clients may connect to the gateway."""
    flows: list[Flow] = Field(default_factory=list)
    """Connections with services inside the site, such as a SIEM, a name server or NFS."""
    exceptions: list[PerimeterException] = Field(default_factory=list)
    """Exceptions for outgoing connections; not allowed on an on-prem site."""
    routes: list[PermittedRoute] = Field(default_factory=list)
    """Further routes that nodes may have, such as the default route to the router of the site. Without an entry, nodes
    may have routes to their interfaces' private networks, and to addresses of this file that the firewall permits."""
    confirm_timeout_s: Annotated[int, Field(ge=30, le=600)] = 60
    """Seconds after which a node restores its previous firewall, unless the controller confirms the new one over a new
    ssh connection (as a confirmed commit of RFC 6241, 8.4)."""
