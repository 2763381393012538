"""Driver locks: exact versions of driver software that were released and run together.

lock = load_driver_locks()["nvidia-580.126.20"]
lock.driver_version                                  # "580.126.20"
lock.values["dcgm"]                                  # "4.5.2"

`operating_systems.py` makes package names and versions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated

from pydantic import StringConstraints

from .figure import CatalogModel, Kind, Sources, read_catalog


class LockedVersion(CatalogModel):
    """An upstream version, without the epoch and revision of a package."""

    value: Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)+$")]
    kind: Kind
    source: str


class DriverLock(CatalogModel):
    """Versions that are installed together and held."""

    id: str
    versions: Mapping[str, LockedVersion]
    """By name: `driver` is the version of nvidia-smi, of the kernel module and of the fabric manager."""
    source: Sources
    verified: bool

    @property
    def values(self) -> dict[str, str]:
        """Versions by name, and `branch`, the first number of the driver's version."""
        values = {name: each.value for name, each in self.versions.items()}
        return values | {"branch": self.driver_version.partition(".")[0]}

    @property
    def driver_version(self) -> str:
        """Version of nvidia-smi, of the kernel module and of the fabric manager."""
        return self.versions["driver"].value

    @property
    def dcgm_version(self) -> str:
        """Version of DCGM."""
        return self.versions["dcgm"].value


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
