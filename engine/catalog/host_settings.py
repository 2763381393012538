"""Settings of GPU servers that DGX OS brings, with their treatment on other systems.

[each.value for each in host_settings(platform) if each.set_by is SetBy.BOOT_OPTION]    # ["iommu=pt", ...]
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date
from enum import StrEnum
from functools import cache
from typing import Literal, Self

from pydantic import model_validator

from .figure import CatalogModel, Kind, read_entries
from .platforms import Platform, PlatformComponent


class SetBy(StrEnum):
    """Part of sovctl that sets a row on a system other than DGX OS."""

    BOOT_OPTION = "boot_option"
    MODULE = "module"
    BLOCKED_MODULE = "blocked_module"
    GOVERNOR = "governor"
    PCI = "pci"
    TUNING = "tuning"
    REPOSITORY = "repository"
    NONE = "none"


class HostSetting(CatalogModel):
    """One setting."""

    id: str
    purpose: str
    set_by: SetBy
    applies_to: Literal["gpu", "x86", "rack-scale", "nvlink5"]
    value: str
    """Boot option, name of the module, governor, or name of the PCI setting."""
    dgx_package: str
    """Package of DGX OS that brings the setting."""
    kind: Kind
    source: str
    date: date
    reason: str = ""
    """Reason why sovctl does not set it; empty if it does."""

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if (self.set_by is SetBy.NONE) != bool(self.reason):
            raise ValueError("a reason for a setting that is not set, and for no other")
        return self


_APPLIES: dict[str, Callable[[Platform], bool]] = {
    "gpu": lambda platform: platform.has_gpus,
    # All platforms of the catalogue except the trays of rack-scale systems, which have Grace processors.
    "x86": lambda platform: platform.has_gpus and platform.nvlink_domain is None,
    "rack-scale": lambda platform: platform.nvlink_domain is not None,
    "nvlink5": lambda platform: PlatformComponent.NVLINK5 in platform.parts,
}


@cache
def load_host_settings() -> tuple[HostSetting, ...]:
    """Return all rows, in the order of the file."""
    rows = read_entries("host_settings", "settings")
    return tuple(
        HostSetting.model_validate({("applies_to" if k == "for" else k): v for k, v in row.items()}) for row in rows
    )


def host_settings(platform: Platform, *, omitted: Collection[str] = ()) -> tuple[HostSetting, ...]:
    """Return the settings of a platform, in the order of the file.

    Args:
        omitted: ids of rows that the site does not want.
    """
    return tuple(
        each for each in load_host_settings() if _APPLIES[each.applies_to](platform) and each.id not in omitted
    )
