"""Makes the part of a lock for nodes with apt: resolves their roots, and checks the closure."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from ...catalog.operating_systems import SupportedSystem
from ...resources.context import render
from ...resources.software.repository import PREFERENCES_TEMPLATE
from ..inventory import PackageBase
from ..part import LockedPackage, Part
from ..refused import LockRefused
from ..targets import NodeTarget, roles
from . import flat_repository
from .indexes import indexes, releases
from .private_apt import SETTINGS, PrivateApt
from .solve import Resolved, resolve
from .sources import AptSources

NOT_CHECKED = "not run: --no-closure-check"
CHECKED = (
    "closed: every role was installed in a simulation from these files only, in a network namespace without routes"
)


def make_part(
    members: Sequence[NodeTarget],
    sources: AptSources,
    *,
    own_index: str,
    own_folder: Path | None,
    kept: Part | None,
    update: str | None,
    may_remove: Collection[str] = (),
) -> Part:
    """Return the part of nodes with the same system, architecture and package status, without closure check.

    Args:
        own_index: index of own packages in `own_folder`; empty without.
        kept: part of the previous lock, of which only `update` may move.
        update: name of a package.
        may_remove: packages of the nodes that the installation may remove.

    Raises:
        LockRefused: the roots cannot be installed, or a package moved that was not to move.
    """
    first, by_role = members[0], roles(members)
    roots = tuple(sorted({root for each in by_role.values() for root in each}))
    with tempfile.TemporaryDirectory(prefix="sovctl-lock-") as folder:
        root = Path(folder)
        texts = dict(sources.files)
        if own_index and own_folder is not None:
            texts["own.list"] = flat_repository.add(root / "own", own_index)
        pins = preferences(first)
        if kept is not None and update is not None:
            texts["kept.list"] = flat_repository.add(root / "kept", kept.index)
            pins |= {"kept.pref": _pins(kept, update)}
        apt = PrivateApt(
            root / "apt", architecture=first.architecture, sources=texts, status=status_of(first.base), preferences=pins
        )
        apt.update()
        folder_name = mirror_folder(first.system, first.architecture)
        found = resolve(apt, roots, folder=folder_name, may_remove=may_remove, where=first.part_id)
        solver = {
            "tool": "apt",
            "version": apt.version(),
            "settings": dict(SETTINGS),
            "sources": [f"{each.uri} {each.suite} {each.component}" for each in indexes(apt) if _is_remote(each.uri)],
            "indexes": releases(apt),
            "removes": list(found.removed),
        }
    if kept is not None and update is not None:
        found = _with_kept(found, kept, update)
    return Part(
        id=first.part_id,
        kind="deb",
        target=target_of(first),
        roots=roots,
        roles=by_role,
        packages=found.packages,
        solver=solver,
        closure_check=NOT_CHECKED,
        index=found.index,
    )


def target_of(node: NodeTarget) -> dict[str, str]:
    """Return the target of a part as plain values."""
    return {"system": node.system.id, "architecture": node.architecture, "base": node.base_id}


def mirror_folder(system: SupportedSystem, architecture: str) -> str:
    """Return the folder of packages in the mirror."""
    return f"{system.package_manager}/{system.id}-{architecture}"


def status_of(base: PackageBase | None) -> str:
    """Return the package status of nodes; empty without an inventory."""
    return base.status if base else ""


def preferences(node: NodeTarget) -> dict[str, str]:
    """Return the apt preferences of a node by file name: its own, and those that sovctl writes."""
    own = {PurePosixPath(path).name: text for path, text in node.base.preferences.items()} if node.base else {}
    pin = (
        {"sovctl": render("repository", PREFERENCES_TEMPLATE, driver_version=node.driver_pin)}
        if node.driver_pin
        else {}
    )
    return own | pin


def contains(part: Part, name: str) -> bool:
    """Return whether a part has a package."""
    return any(each.name == name for each in part.packages)


def _is_remote(uri: str) -> bool:
    return not uri.startswith("file:")


def _sources(part: Part) -> Mapping[str, str]:
    """Return the source package by package."""
    found = {}
    for text in part.index.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line and line[0] != " ")
        if "Package" in fields:
            found[fields["Package"]] = fields.get("Source", fields["Package"]).partition(" ")[0]
    return found


def _moving(part: Part, update: str) -> frozenset[str]:
    """Return the packages that may move with one root: those of the same source package."""
    sources = _sources(part)
    return frozenset(name for name, source in sources.items() if source == sources.get(update, update))


def _pins(part: Part, update: str) -> str:
    moving = _moving(part, update)
    return "\n".join(
        f"Package: {each.name}\nPin: version {each.version}\nPin-Priority: 1001\n"
        for each in part.packages
        if each.name not in moving
    )


def _with_kept(found: Resolved, kept: Part, update: str) -> Resolved:
    """Return the result with the entries of the previous lock for files that did not move."""
    old = {(each.name, each.arch, each.version, each.sha256): each for each in kept.packages}
    packages = tuple(old.get((p.name, p.arch, p.version, p.sha256), p) for p in found.packages)
    moved = _moved(packages, kept) - _moving(kept, update)
    if moved:
        hint = "run `sovctl lock` without --update, and review all differences"
        raise LockRefused([f"{name} would move with {update}" for name in sorted(moved)], where=kept.id, hint=hint)
    return Resolved(packages, found.index, found.removed)


def _moved(packages: Sequence[LockedPackage], kept: Part) -> set[str]:
    versions = {each.key: each.version for each in kept.packages}
    return {each.name for each in packages if versions.get(each.key, each.version) != each.version}
