"""`fabric` of `site.yaml`: the InfiniBand fabric of the nodes, and the roles of their ports."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .types import FilePath, Name, SpecModel, words

PciAddress = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$"),
    words("a PCI address such as 0000:18:00.0", kind="PCI address"),
]
"""Address of a PCI function, in lower case."""


class PortRoles(SpecModel):
    """Roles of the InfiniBand and RoCE ports of a node, by PCI address as in `lspci -D`."""

    compute: list[PciAddress] = Field(default_factory=list)
    """Ports between GPUs of different nodes. Empty: those of the platform in the catalogue, or else every
    InfiniBand port without another role."""
    storage: list[PciAddress] = Field(default_factory=list)
    """Ports of the storage network. They do not count as compute ports."""
    in_band: list[PciAddress] = Field(default_factory=list)
    """Ports of the management network. They do not count as compute ports."""


class InfinibandFabric(SpecModel):
    """InfiniBand fabric of the nodes, and its expected state. Checks of the fabric run once, on `probe_node`."""

    probe_node: Name
    """Node with infiniband-diags and an active port on the fabric. Read-only tools run there: `ibnetdiscover`,
    `ibqueryerrors`, `sminfo` and `saquery`."""
    cabling_file: FilePath | None = None
    """Planned cabling: a CSV file with the columns `device,port,peer,peer_port`. `sovctl fabric show --cabling` writes
    one. Default: none, and links are only compared with each other."""
    link_gbit_s: Annotated[float, Field(ge=10, le=3200)] = 400
    """Nominal rate of every link in Gbit/s: 400 for 4X NDR, 200 for 4X HDR."""
    rail_optimized: bool = True
    """Whether each leaf connects the same adapter index of all its hosts."""
    sharp: bool = False
    """Whether every switch must have a SHARP aggregation node."""
    standby_subnet_manager: bool = True
    """Whether a standby subnet manager must exist in addition to the master."""
    node_connections: bool = False
    """Whether the firewall allows connections between the nodes of a group that has compute ports. perftest between two
    nodes, and NCCL over several, need them to start; pools with replicas on several nodes have them already."""
    max_oversubscription: Annotated[float, Field(ge=1, le=16)] = 1.0
    """Maximum bandwidth of a leaf's hosts divided by that of its uplinks. 1.0: non-blocking, as a rail-optimized
    SuperPOD is designed."""


class RoceNetwork(SpecModel):
    """RoCE: the compute ports of the nodes are Ethernet. Checks `roce.*` compare them with these settings.

    The defaults are those of NVIDIA's examples of lossless RoCE: priority 3, DSCP 26 (MLNX_OFED, Quality of Service).
    """

    lossless_priority: Annotated[int, Field(ge=0, le=7)] = 3
    """Priority of RDMA, the only one with flow control (PFC)."""
    traffic_class: Annotated[int, Field(ge=0, le=255)] = 106
    """Traffic class byte of RDMA packets: DSCP x 4, plus 2 for packets that switches may mark (ECN). 106: DSCP 26."""
    mtu: Annotated[int, Field(ge=1280, le=9978)] = 9000
    """MTU of the network devices in bytes."""
    gid_index: Annotated[int, Field(ge=0, le=255)] = 3
    """Index of the GID table that NCCL uses, `NCCL_IB_GID_INDEX`."""
