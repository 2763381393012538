"""Catalogue of models, GPUs, platforms and driver locks: data files with sources, and typed values.

catalog = load_catalog()
catalog.models["sovctl-echo"].arch.heads
catalog.platforms["dgx-h100"].checks.gpu_count.value
catalog.gpu_of(catalog.platforms["dgx-h100"]).has_fp8
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sovctl.compliance.controls.builtin_packs import pack_names
from sovctl.support.package_files import package_folder

from ..spec import NodeGroup, Pool
from .calibrations import ServerCalibration
from .drivers import DriverLock, load_driver_locks
from .engines import ENGINES
from .gpus import Gpu, load_gpus
from .mig import slice_gpu, with_devices
from .mig_layout import Device, devices_of, profile_of
from .models import ModelEntry, load_models
from .platforms import Platform, ScalableUnit, load_platforms, load_scalable_units
from .serve_flags import ServeFlags, load_serve_flags

__all__ = ["Catalog", "DriverLock", "Gpu", "ModelEntry", "Platform", "ScalableUnit", "load_catalog"]


@dataclass(frozen=True)
class Catalog:
    """The whole catalogue; each part is a mapping by id."""

    models: Mapping[str, ModelEntry]
    gpus: Mapping[str, Gpu]
    platforms: Mapping[str, Platform]
    scalable_units: Mapping[str, ScalableUnit]
    driver_locks: Mapping[str, DriverLock]
    engines: frozenset[str]
    """Engines whose packages are locked, such as `vllm-0.32.0`."""
    packs: frozenset[str]
    """Control frameworks that reports can assess."""
    serve_flags: ServeFlags
    """Flags and parsers of the locked vLLM release."""
    calibrations: tuple[ServerCalibration, ...] = ()
    """Measurements of the site on its servers; sovctl ships none."""

    def gpu_of(self, platform: Platform) -> Gpu | None:
        """Return the GPU of a platform; None for a service node."""
        return self.gpus[platform.gpu] if platform.gpu else None

    def devices(self, group: NodeGroup) -> tuple[Device, ...] | None:
        """Return the GPUs and MIG instances of each node of a group; None if the platform or the layout is invalid."""
        found = self.platforms.get(group.platform)
        return None if found is None else devices_of(found.gpu or "", found.gpus, group)

    def machine(self, group: NodeGroup, pool: Pool | None = None) -> tuple[Platform, Gpu | None] | None:
        """Return the platform of a group, and the GPU or MIG slice that a pool uses there.

        Args:
            pool: None for the only MIG profile of the group, or its whole GPUs.

        Returns:
            `gpus` of the platform counts the devices of this size. None if the catalogue does not contain the platform
            or the profile, or if the group has no such device.
        """
        found, devices = self.platforms.get(group.platform), self.devices(group)
        if found is None or devices is None:
            return None
        gpu = self.gpu_of(found)
        if not group.is_divided:
            return found, gpu
        profile = profile_of(devices, pool)
        count = sum(each.profile == profile for each in devices)
        if gpu is None or count == 0:
            return None
        return with_devices(found, count), gpu if profile is None else slice_gpu(gpu, profile)


@cache
def load_catalog() -> Catalog:
    """Return the catalogue of this version of sovctl; cached."""
    locks = package_folder("engine/catalog/locks")
    return Catalog(
        models=load_models(),
        gpus=load_gpus(),
        platforms=load_platforms(),
        scalable_units=load_scalable_units(),
        driver_locks=load_driver_locks(),
        engines=frozenset(path.stem for name in ENGINES for path in locks.glob(f"{name}-[0-9]*.txt")),
        packs=frozenset(pack_names()),
        serve_flags=load_serve_flags(),
    )
