"""Supported operating systems of nodes, and the packages that a platform needs on each of them.

    system = supported(node_facts.system)                     # None: sovctl refuses the node
    [each.spec for each in system.packages_for(platform, lock, kernel="6.8.0-110", tasks=Tasks(), has_own_kernel=True)]

The data are in operating_systems.yaml. Names and versions of packages are templates over the versions of a driver lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from ..facts.operating_system import OperatingSystem
from .drivers import DriverLock
from .figure import CatalogModel, Kind, read_catalog
from .platforms import Platform, PlatformComponent


class Apply(StrEnum):
    """Treatment of NVIDIA's packages on an operating system."""

    MANAGED = "managed"
    """sovctl installs and holds them."""
    ASSERTED = "asserted"
    """sovctl compares them with the lock and never changes them."""
    PLAN_ONLY = "plan_only"
    """sovctl plans them; `sovctl apply` refuses."""


Need = Literal["all", "python", "gpu", "monitored_gpu", "nvswitch", "nvlink5", "imex", "compute_nics"]


@dataclass(frozen=True)
class Tasks:
    """Tasks of a node on which packages depend."""

    runs_python: bool = False
    """A pool, the gateway or retrieval."""
    is_monitored: bool = False
    """By the Prometheus of the site."""


_NO_TASKS = Tasks()
_NEEDED: dict[Need, Callable[[Platform, Tasks], bool]] = {
    "all": lambda _platform, _tasks: True,
    "python": lambda _platform, tasks: tasks.runs_python,
    "gpu": lambda platform, _tasks: PlatformComponent.GPU in platform.parts,
    "monitored_gpu": lambda platform, tasks: PlatformComponent.GPU in platform.parts and tasks.is_monitored,
    "nvswitch": lambda platform, _tasks: PlatformComponent.NVSWITCH in platform.parts,
    "nvlink5": lambda platform, _tasks: PlatformComponent.NVLINK5 in platform.parts,
    "imex": lambda platform, _tasks: PlatformComponent.IMEX in platform.parts,
    "compute_nics": lambda platform, _tasks: bool(platform.checks.compute_nics and platform.checks.compute_nics.value),
}
_OF_SOVCTL = frozenset({"all", "python", "monitored_gpu"})
"""Needs that an asserted system does not meet itself: sovctl installs their packages there too."""


def is_needed(need: Need, platform: Platform, tasks: Tasks = _NO_TASKS) -> bool:
    """Return whether a node of a platform has the need."""
    return _NEEDED[need](platform, tasks)


class Component(CatalogModel):
    """A group of packages with one purpose."""

    id: str
    title: str
    needs: Need
    version: str | None = None
    """Key of the lock's versions; None: the site's mirror determines the version."""
    kernel: bool = False
    """Whether it is part of the kernel or a tool of the hardware, which containers and simulated hardware lack."""
    restarts: Literal["node", "pools", "own"] | None = None
    """Effect of a new version. node: restarts all services of the board and pools; pools: its own service and pools."""

    @property
    def is_of_vendor(self) -> bool:
        """Whether an asserted system contains its packages, so that sovctl never installs them there."""
        return self.needs not in _OF_SOVCTL


class PackageRow(CatalogModel):
    """A package on one operating system; name and version are templates."""

    component: str
    name: str
    version: str | None = None
    """None: the version of the site's mirror."""
    kind: Kind
    source: str


class GeneratedFiles(CatalogModel):
    """Files that an operating system writes after its installation, and no package owns."""

    os: str
    """ID of /etc/os-release."""
    pattern: str
    """Regular expression of whole paths."""
    writer: str
    """Program that writes them."""
    kind: Kind
    source: str


class Match(CatalogModel):
    """Values of /etc/os-release and /etc/dgx-release."""

    id: str
    version: str
    """Version, or the numbers before its last dot: "9" matches 9.4."""
    dgx: str | None = None
    """First number of the DGX OS release; None: not DGX OS."""


class Repository(CatalogModel):
    """An upstream repository that the site's mirror contains."""

    title: str
    url: str


@dataclass(frozen=True)
class Package:
    """A package to install. `version` is exact; None: the version of the site's mirror."""

    name: str
    version: str | None
    component: Component

    @property
    def spec(self) -> str:
        """Argument of apt."""
        return self.name if self.version is None else f"{self.name}={self.version}"


class SupportedSystem(CatalogModel):
    """A supported operating system."""

    id: str
    title: str
    match: Match
    package_manager: Literal["apt", "dnf"]
    apply: Apply
    gpu: bool
    """Whether nodes with GPUs may have it; False: only with simulated hardware."""
    pin: str
    secure_boot: str
    mok_key: str | None = None
    """Key that signs modules built on the node; None: the distribution signs them."""
    driver_module: str | None = None
    """Template of the module stream of dnf; None without modules."""
    repositories: tuple[Repository, ...]
    engine_packages: Mapping[str, tuple[str, ...]]
    """System libraries that the wheels of an engine load and do not contain, by engine; under `retrieval`, PostgreSQL
    with its major version, and pgvector. A system without `retrieval` cannot have it."""
    packages: tuple[PackageRow, ...]

    def accepts(self, expected: str, installed: str) -> bool:
        """Return whether an installed version is the expected one; on an asserted system its upstream part."""
        return upstream(installed) == upstream(expected) if self.apply is Apply.ASSERTED else installed == expected

    def packages_for(
        self, platform: Platform, lock: DriverLock, *, kernel: str, tasks: Tasks, has_own_kernel: bool
    ) -> tuple[Package, ...]:
        """Return the packages of a node in the order of the components.

        Args:
            kernel: release of the running kernel.
            has_own_kernel: False in a container and on simulated hardware; omits packages of the kernel.
        """
        values = lock.values | {"kernel": kernel}
        return tuple(
            Package(row.name.format(**values), row.version and row.version.format(**values), component)
            for component in load_components()
            if is_needed(component.needs, platform, tasks) and (has_own_kernel or not component.kernel)
            for row in self.packages
            if row.component == component.id
        )


def upstream(version: str) -> str:
    """Return the upstream part of a package version: without epoch and revision."""
    return version.rpartition(":")[2].partition("-")[0]


@cache
def load_components() -> tuple[Component, ...]:
    """Return all components in the order of installation."""
    return tuple(Component.model_validate(row) for row in read_catalog("operating_systems")["components"])


@cache
def load_generated_files() -> tuple[GeneratedFiles, ...]:
    """Return all rows of generated files, in the order of the file."""
    return tuple(GeneratedFiles.model_validate(row) for row in read_catalog("operating_systems")["generated"])


@cache
def load_operating_systems() -> Mapping[str, SupportedSystem]:
    """Return all supported systems by id, in the order of the file."""
    rows = {row["id"]: row for row in read_catalog("operating_systems")["systems"]}
    entries = [SupportedSystem.model_validate(_completed(row, rows)) for row in rows.values()]
    return MappingProxyType({entry.id: entry for entry in entries})


@cache
def _names() -> tuple[tuple[re.Pattern[str], Component], ...]:
    components = {each.id: each for each in load_components()}
    rows = {(row.name, row.component) for system in load_operating_systems().values() for row in system.packages}
    return tuple(
        (re.compile(re.sub(r"\\\{\w+\\\}", r"[\\w.+-]+", re.escape(name))), components[component])
        for name, component in sorted(rows)
    )


@cache
def component_named(package: str) -> Component | None:
    """Return the component of a package by name, on any system; None for another package."""
    return next((component for pattern, component in _names() if pattern.fullmatch(package)), None)


def _completed(row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row with the values of the row that `like` names."""
    own = {key: value for key, value in row.items() if key != "like"}
    return {**rows[row["like"]], **own} if "like" in row else own


def supported(system: OperatingSystem, systems: Iterable[SupportedSystem] | None = None) -> SupportedSystem | None:
    """Return the row of an operating system; None if sovctl does not support it."""
    dgx = system.dgx_release.partition(".")[0] if system.dgx_release is not None else None
    for each in load_operating_systems().values() if systems is None else systems:
        wanted = each.match
        if (system.id, dgx) == (wanted.id, wanted.dgx) and _is_within(system.version, wanted.version):
            return each
    return None


def _is_within(version: str, wanted: str) -> bool:
    return version == wanted or version.startswith(f"{wanted}.")
