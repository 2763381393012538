"""Bill of materials of a lock: CycloneDX with every package, wheel, model and own file. Pure.

A model is one component with its files as parts, so that its name and licence are stated once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from sovctl import __version__
from sovctl.compliance.bom.component import Bill, Component, ComponentKind
from sovctl.compliance.bom.cyclonedx import bom_bytes

if TYPE_CHECKING:
    from .folder import Lock
    from .part import LockedPackage, Part

_PURL = {
    "deb": "pkg:deb/{vendor}/{name}@{version}?arch={arch}&distro={system}",
    "rpm": "pkg:rpm/{vendor}/{name}@{version}?arch={arch}&distro={system}",
    "wheel": "pkg:pypi/{name}@{version}",
}
"""Package URL by kind. Source: purl-spec, PURL-TYPES (deb, rpm, pypi), 2025-11."""

_VENDORS = {"dgx-os": "ubuntu", "rhel": "redhat"}
"""Vendor in package URLs by system; other systems have their own name."""


def bill(lock: Lock) -> bytes:
    """Return the CycloneDX document of a lock, with the same bytes for the same lock."""
    found: dict[str, Component] = {}
    for part in lock.parts:
        found |= {each.ref: each for each in _components(part)}
    return bom_bytes(Bill(lock.site, __version__, tuple(found.values()), simulated=False))


def _components(part: Part) -> Iterator[Component]:
    if part.kind == "model":
        yield from _models(part)
        return
    for package in part.packages:
        is_own = package.redistributable == "own-file" or part.kind == "own-file"
        yield Component(
            kind=ComponentKind.FILE if part.kind == "own-file" else ComponentKind.LIBRARY,
            ref=f"file:{package.path}",
            name=package.name,
            version=package.version,
            purl=_purl(part, package),
            sha256=package.sha256,
            licence="" if package.licence == "unknown" else package.licence,
            source=package.url,
            properties=(
                ("path", package.path),
                ("redistributable", package.redistributable),
                ("source", package.source),
                *((("provided-by", "operator"),) if is_own else ()),
            ),
        )


def _purl(part: Part, package: LockedPackage) -> str:
    form = _PURL.get(part.kind)
    if form is None:
        return ""
    system = part.target.get("system", "")
    values = {"name": package.name, "version": package.version, "arch": package.arch, "system": system}
    name = system.rpartition("-")[0]
    return form.format(vendor=_VENDORS.get(name, name), **{key: quote(text, safe="") for key, text in values.items()})


def _models(part: Part) -> Iterator[Component]:
    groups: dict[str, list[LockedPackage]] = {}
    for package in part.packages:
        groups.setdefault(package.name.partition("/")[0], []).append(package)
    for name, files in groups.items():
        yield Component(
            kind=ComponentKind.MODEL,
            ref=f"model:{name}",
            name=name,
            version=files[0].version,
            licence="" if files[0].licence == "unknown" else files[0].licence,
            properties=(("redistributable", files[0].redistributable),),
            parts=tuple(
                Component(ComponentKind.FILE, f"file:{each.path}", each.name, sha256=each.sha256) for each in files
            ),
        )
