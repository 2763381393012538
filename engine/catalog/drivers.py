"""Driver locks: exact versions of driver packages, and the platforms that need them.

lock = load_driver_locks()["nvidia-580.126.20"]
[(each.name, each.version) for each in lock.packages_for(platform)]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from .figure import CatalogModel, Kind, Sources, read_catalog
from .platforms import Platform, PlatformComponent


class LockedPackage(CatalogModel):
    """A package with its exact version."""

    name: str
    version: str
    """Version in the format of the package manager, with epoch and revision."""
    part: PlatformComponent
    """Platform component that needs the package."""
    kind: Kind
    source: str


class DriverLock(CatalogModel):
    """A set of packages that are installed together and held."""

    id: str
    driver_version: str
    """Version of nvidia-smi, of the kernel module and of the fabric manager."""
    dcgm_version: str
    packages: tuple[LockedPackage, ...]
    source: Sources
    verified: bool

    def packages_for(self, platform: Platform) -> tuple[LockedPackage, ...]:
        """Return the packages of a platform, in the order of the lock; empty for a platform without GPUs."""
        return tuple(each for each in self.packages if each.part in platform.parts)


@cache
def load_driver_locks() -> Mapping[str, DriverLock]:
    """Return all locks of the catalogue by id, in the order of the file."""
    entries = [DriverLock.model_validate(row) for row in read_catalog("drivers")["locks"]]
    return MappingProxyType({entry.id: entry for entry in entries})


def driver_lock(name: str) -> DriverLock:
    """Return one lock.

    Raises:
        KeyError: the catalogue does not contain it. Names in a validated site.yaml are always in the catalogue.
    """
    return load_driver_locks()[name]
