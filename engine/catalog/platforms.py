"""Platforms: what one kind of machine is, what checks expect of it, and the kernel settings and limits it runs with.

    platform = load_platforms()["dgx-h100"]
    platform.gpus                               # 8, per operating system
    platform.checks.nvlinks_per_gpu.value       # 18; with .unit, .kind, .source, .date
    platform.sysctls, platform.limits

A figure that is None is not known: what needs it is UNKNOWN. A figure whose value is None is positively not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .figure import Amount, CatalogModel, Count, Figure, Sourced, read_catalog, read_entries

_Number = Annotated[int, Field(ge=0)]


class PlatformComponent(StrEnum):
    """Hardware component of a platform that needs specific packages."""

    GPU = "gpu"
    NVSWITCH = "nvswitch"  # the fabric manager runs on the node
    NVLINK5 = "nvlink5"  # the switches are managed through InfiniBand: nvlsm, ib_umad
    IMEX = "imex"  # memory is shared between the nodes of one NVLink domain


class CheckProfile(CatalogModel):
    """Expected values of checks for one GPU board."""

    gpu_count: Figure | None = None
    gpu_pci_id: Figure | None = None
    """Device id, four lower-case hex digits, vendor 10de."""
    nvlinks_per_gpu: Figure | None = None
    nvlink_gb_s: Figure | None = None
    """Rate per link in the unit of `nvidia-smi nvlink -s`."""
    topo_gpu_link: Figure | None = None
    """Connection of every two GPUs in the notation of `nvidia-smi topo -m`."""
    pcie_gen: Figure | None = None
    pcie_width: Figure | None = None
    power_limit_w: Figure | None = None
    sm_clock_mhz: Figure | None = None
    """Maximum clock of the multiprocessors."""
    fabric_state: Figure | None = None
    fabric_status: Figure | None = None
    fabric_health: Figure | None = None
    fabric_has_cluster_uuid: Figure | None = None
    nvswitch_count: Figure | None = None
    """NVSwitches on the PCI bus."""
    nvswitch_pci_id: Figure | None = None
    hbm_bandwidth_min_mb_s: Figure | None = None
    """Minimum of DCGM's memory bandwidth test."""
    targeted_stress_gflops: Figure | None = None
    """Target of DCGM's targeted stress test."""
    targeted_power_w: Figure | None = None
    """Target of DCGM's targeted power test."""
    host_bandwidth_min_gb_s: Figure | None = None
    """Lowest rate of a copy between the host and one GPU, in either direction."""
    peer_bandwidth_min_gb_s: Figure | None = None
    """Lowest rate of a copy between two GPUs, in one direction."""
    compute_nics: Figure | None = None
    compute_nic_gbit_s: Figure | None = None
    numa_nodes: Figure | None = None
    """NUMA nodes with processors."""


class Sysctl(CatalogModel):
    """A kernel setting."""

    key: str
    scope: Literal["kernel", "network"]
    """`network`: per network namespace. `kernel`: global, and not settable in a container."""
    expected: Figure

    @property
    def value(self) -> str:
        """Value in the format of sysctl.d."""
        return str(self.expected.value)


class Limit(CatalogModel):
    """A line of limits.conf."""

    domain: str
    """`*`: all users except root."""
    kind: Literal["-", "soft", "hard"]
    """`-`: soft and hard."""
    item: str
    expected: Figure

    @property
    def value(self) -> str:
        """Value in the format of limits.conf."""
        return str(self.expected.value)


class Platform(Sourced):
    """A type of node."""

    system: str | None
    """Product name, if the platform is a product."""
    family: Literal["dgx", "hgx", "pcie", "service"]
    gpu: str | None
    """Id in the GPU catalogue."""
    gpus: _Number
    """GPUs per operating system; 4 for a GB200 tray, whose rack has 72."""
    system_gpus: _Number
    """GPUs of the unit that `max_power_kw` and `form` describe."""
    nvlink_domain: Count | None = None
    """GPUs of the NVLink domain, if it spans several nodes."""
    parts: frozenset[PlatformComponent]
    profile: str | None
    """Name of the check profile; None if unknown, and its checks are UNKNOWN."""
    checks: CheckProfile
    sysctls: tuple[Sysctl, ...]
    limits: tuple[Limit, ...]
    max_power_kw: Amount | None
    nvswitches: _Number | None = None
    compute_slots: Figure | None = None
    """PCI addresses of the compute ports, separated by spaces; absent if unknown."""
    power_supplies: Figure | None = None
    """Power supplies of a node; absent if it differs by maker."""
    memory_gib: Figure | None = None
    """Least main memory of a node; absent if it differs by maker."""
    gpu_memory_total_gb: Count | None = None
    network: str
    local_storage: str
    cpu: str
    ram: str
    form: str
    notes: str = ""

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        if (self.gpu is None) != (self.gpus == 0):
            raise ValueError("gpu and a number of gpus, or neither")
        if self.system_gpus < self.gpus:
            raise ValueError(f"system_gpus of at least gpus, {self.gpus}")
        return self

    @property
    def has_gpus(self) -> bool:
        """Whether the node has GPUs; False for a service node."""
        return self.gpus > 0


class ScalableUnit(Sourced):
    """Scalable unit of a SuperPOD."""

    platform: str
    """Platform of the unit. A platform has several units if an architecture offers several networks."""
    nodes_per_su: Count | None = None
    racks_per_su: Count | None = None
    gpus_per_su: Count | None = None
    power_mw_per_su: Amount | None = None
    table: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """Nodes and GPUs by size."""
    rack_kw: str = ""
    example: str = ""
    scale: str = ""
    datacentre: str = ""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.nodes_per_su is None and self.racks_per_su is None:
            raise ValueError("nodes_per_su, or racks_per_su of a platform that is a whole rack")
        return self


# Platforms that get a setting, by the value of `for` in the data.
_CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "all": lambda platform: "id" in platform,
    "gpu": lambda platform: platform["gpus"] > 0,
    "rack-scale": lambda platform: "nvlink_domain" in platform,
}


def _for_platform(rows: list[dict[str, Any]], platform: dict[str, Any]) -> list[dict[str, Any]]:
    chosen = [row for row in rows if _CONDITIONS[row["for"]](platform)]
    return [{key: value for key, value in row.items() if key != "for"} for row in chosen]


def completed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the data with the checks of its profile and the settings that apply to it."""
    content = read_catalog("platforms")
    profiles, settings = content["profiles"], content["settings"]
    return row | {
        "checks": profiles[row["profile"]] if row.get("profile") else {},
        "sysctls": _for_platform(settings["sysctl"], row),
        "limits": _for_platform(settings["limits"], row),
    }


@cache
def load_platforms() -> Mapping[str, Platform]:
    """Return all platforms of the catalogue by id, in the order of the file."""
    entries = [Platform.model_validate(completed(row)) for row in read_entries("platforms", "platforms")]
    return MappingProxyType({entry.id: entry for entry in entries})


@cache
def load_scalable_units() -> Mapping[str, ScalableUnit]:
    """Return all scalable units of the catalogue by id, in the order of the file."""
    entries = [ScalableUnit.model_validate(row) for row in read_entries("platforms", "scalable_units")]
    return MappingProxyType({entry.id: entry for entry in entries})
