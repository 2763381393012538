"""Driver locks: exact package versions that belong together, and which machines need which.

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
    """One package at exactly one version."""

    name: str
    version: str
    """As the package manager writes it, with epoch and revision."""
    part: PlatformComponent
    """Machines with this part need it."""
    kind: Kind
    source: str


class DriverLock(CatalogModel):
    """One set that is installed together, and held."""

    id: str
    driver_version: str
    """What nvidia-smi and the kernel module must say; fabric manager too."""
    dcgm_version: str
    packages: tuple[LockedPackage, ...]
    source: Sources
    verified: bool

    def packages_for(self, platform: Platform) -> tuple[LockedPackage, ...]:
        """What a machine of this kind needs, in the order of the lock; empty for one without GPU."""
        return tuple(each for each in self.packages if each.part in platform.parts)


@cache
def load_driver_locks() -> Mapping[str, DriverLock]:
    """Every lock of the catalogue by id, in the order of the file."""
    entries = [DriverLock.model_validate(row) for row in read_catalog("drivers")["locks"]]
    return MappingProxyType({entry.id: entry for entry in entries})


def driver_lock(name: str) -> DriverLock:
    """One lock.

    Raises:
        KeyError: the catalogue has none of that name; a loaded site.yaml never gets here with such a name.
    """
    return load_driver_locks()[name]
