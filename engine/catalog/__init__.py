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

from .calibrations import ServerCalibration
from .drivers import DriverLock, load_driver_locks
from .engines import ENGINES
from .gpus import Gpu, load_gpus
from .mig import slice_gpu, slices_of, with_mig_slices
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

    def machine(self, platform: str, mig: str | None = None) -> tuple[Platform, Gpu | None] | None:
        """Return a platform and its GPU or MIG slice; None if the catalogue does not contain it.

        Args:
            mig: MIG profile; None for whole GPUs.
        """
        found = self.platforms.get(platform)
        if found is None:
            return None
        gpu = self.gpu_of(found)
        if mig is None:
            return found, gpu
        if gpu is None or mig not in slices_of(gpu.id):
            return None
        return with_mig_slices(found, mig), slice_gpu(gpu, mig)


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
