"""Reads the input of an export: site.yaml, image table and lock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError

from ..lock.folder import read_lock
from ..plan.build import context_of
from ..sizing.pool.autoscaler import bounds_of
from ..sizing.site.site_sizing import size_site
from ..validation.load import load
from .export import WRITERS, needed_images, require_exportable
from .images import read_images
from .not_exported import omissions
from .source import Serving, Source, Target


def read_source(target: Target, site: Path, images: Path, *, serving: str, lock: Path | None) -> Source:
    """Return the input of an export.

    Raises:
        SpecError, InputError: a file or an option is invalid, or the lock belongs to another site.
    """
    if serving not in list(Serving):
        raise InputError(f"expected one of {', '.join(Serving)}, got {serving!r}", where="--serving")
    loaded = load(site)
    require_exportable(loaded.spec)
    sized = size_site(loaded.spec, loaded.catalog).sizings
    bounds = {each.case.pool.name: bounds_of(each, loaded.spec.sizing) for each in sized}
    source = Source(
        context=context_of(loaded.spec, site.resolve().parent),
        images={},
        bounds={name: each for name, each in bounds.items() if each is not None},
        serving=Serving(serving),
        lock_sha256=_lock_sha256(lock, loaded.spec.site.name),
    )
    return replace(source, images=read_images(images, needed_images(source, target)))


def rendered(target: Target, source: Source) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the files of an export by name, and the omitted parts of site.yaml."""
    omitted = [{"path": each.path, "reason": each.reason} for each in omissions(source, target)]
    return WRITERS[target](source), omitted


def _lock_sha256(folder: Path | None, site: str) -> str:
    if folder is None:
        return ""
    lock = read_lock(folder)
    if lock.site != site:
        raise InputError(f"the lock is of site {lock.site}, not of {site}", where=str(folder), hint="lock this site")
    return lock.sha256
