"""`hardware` and `firmware` of a node group: the planned size of its nodes, and the permitted versions of firmware."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .types import SpecModel, words

FirmwareVersion = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:()/ +-]{0,63}$"),
    words("a firmware version such as 1.6.7", kind="firmware"),
]
"""Version as the tool prints it."""


class PlannedHardware(SpecModel):
    """Planned size of each node, which replaces that of the platform in the catalogue."""

    memory_gib: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Main memory in GiB. Default: that of the platform, or not compared."""
    numa_nodes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """NUMA nodes with processors. Default: that of the platform, or not compared."""
    power_supplies: Annotated[int, Field(ge=1, le=64)] | None = None
    """Power supplies. Default: that of the platform, or at least 2."""


class FirmwareVersions(SpecModel):
    """Permitted versions of firmware. An empty list permits every version that the part states."""

    bios: list[FirmwareVersion] = Field(default_factory=list)
    """Versions of the BIOS, as `dmidecode -s bios-version` prints them."""
    bmc: list[FirmwareVersion] = Field(default_factory=list)
    """Versions of the management controller, as `ipmitool mc info` prints them, such as `23.09`. The auxiliary
    revision can follow: `23.09 (0x17 0x00 0x00 0x00)`."""
    gpu: list[FirmwareVersion] = Field(default_factory=list)
    """Versions of the VBIOS of GPUs, as `nvidia-smi -q` prints them."""
    nic: list[FirmwareVersion] = Field(default_factory=list)
    """Versions of InfiniBand and RoCE adapters, as `ibstat` prints them."""
    nvme: list[FirmwareVersion] = Field(default_factory=list)
    """Versions of NVMe drives, as `nvme list` prints them."""
