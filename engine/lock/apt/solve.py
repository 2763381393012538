"""Resolves Debian and Ubuntu packages: exact files with size and SHA-256, and the stanzas of their index.

The file that apt would download is compared with its stanza in the signed index. A file without a stanza, or with
another size or SHA-256, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from ...facts.packages.apt_simulation import parse_simulation
from ..licences import licence_of_archive
from ..part import LockedPackage
from ..refused import LockRefused
from .indexes import Stanza, indexes, stanzas
from .private_apt import PrivateApt

_LINE = re.compile(r"^'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})$")
_FILE = re.compile(r"^(?P<name>[a-z0-9][a-z0-9+.-]*)_(?P<version>[^_]+)_(?P<arch>[a-z0-9-]+)\.deb$")


@dataclass(frozen=True)
class Resolved:
    """Closure of roots.

    Args:
        packages: sorted.
        index: their stanzas, with `Filename` relative to the folder of the part in the mirror.
        removed: packages of the nodes that the installation removes, sorted.
    """

    packages: tuple[LockedPackage, ...]
    index: str
    removed: tuple[str, ...]


@dataclass(frozen=True)
class _Download:
    uri: str
    file: str
    size: int
    sha256: str
    name: str
    version: str


def resolve(apt: PrivateApt, roots: Sequence[str], *, folder: str, may_remove: Collection[str], where: str) -> Resolved:
    """Return the closure of roots.

    Args:
        folder: of the files in the mirror.
        may_remove: packages of the nodes that the installation may remove.
        where: name of the part, for errors.

    Raises:
        LockRefused: a root cannot be installed, a package of the base would be removed, or an index contradicts apt.
    """
    steps = parse_simulation(apt.install(roots, where=where, print_uris=False))
    removed = tuple(sorted(step.name for step in steps if step.version is None))
    if refused := [name for name in removed if name not in may_remove]:
        hint = "permit each by name with --may-remove, or choose other roots"
        raise LockRefused([f"{name} would be removed from the nodes" for name in refused], where=where, hint=hint)
    downloads = _downloads(apt.install(roots, where=where, print_uris=True), where=where)
    if {(each.name, each.version) for each in downloads} != {
        (step.name, step.version) for step in steps if step.version is not None
    }:
        raise LockRefused(["apt's simulation and its list of files differ"], where=where, hint="report this as a bug")
    names = {each.name for each in downloads}
    found = [stanza for index in indexes(apt) for stanza in stanzas(index, names)]
    pairs = sorted(
        (_locked(each, _stanza_of(each, found, where), folder) for each in downloads),
        key=lambda pair: (pair[0].name, pair[0].arch, pair[0].version),
    )
    index = "\n".join(_for_mirror(stanza.text, PurePosixPath(package.path).name) for package, stanza in pairs)
    return Resolved(tuple(package for package, _ in pairs), index, removed)


def _downloads(text: str, *, where: str) -> list[_Download]:
    found = []
    for line in text.splitlines():
        if not line.startswith("'"):
            continue
        match = _LINE.match(line)
        name = _FILE.match(match["file"]) if match else None
        if match is None or name is None:
            raise LockRefused([f"a file without SHA-256: {line[:80]}"], where=where, hint="use another package source")
        version = unquote(name["version"])
        found.append(_Download(match["uri"], match["file"], int(match["size"]), match["sha256"], name["name"], version))
    return found


def _stanza_of(download: _Download, found: Sequence[Stanza], where: str) -> Stanza:
    """Return the stanza of a file: the one of its URI, else one of equal content."""
    equal = [
        each
        for each in found
        if (each.field("Package"), each.field("Version")) == (download.name, download.version)
        and (each.field("Size"), each.field("SHA256")) == (str(download.size), download.sha256)
    ]
    if not equal:
        reason = f"{download.name} {download.version}: apt's file differs from the index"
        raise LockRefused([reason], where=where, hint="use another package source")
    of_uri = [each for each in equal if unquote(download.uri).endswith(each.field("Filename").removeprefix("./"))]
    return min(of_uri or equal, key=lambda each: each.index.label)


def _locked(download: _Download, stanza: Stanza, folder: str) -> tuple[LockedPackage, Stanza]:
    is_own = download.uri.startswith("file:")
    licence, redistributable = licence_of_archive(stanza.index.origin, stanza.index.component, is_own=is_own)
    package = LockedPackage(
        name=download.name,
        version=download.version,
        arch=stanza.field("Architecture"),
        path=f"{folder}/{download.file}",
        size=download.size,
        sha256=download.sha256,
        source="own file" if is_own else stanza.index.label,
        url="" if is_own else download.uri,
        licence=licence,
        redistributable=redistributable,
    )
    return package, stanza


def _for_mirror(text: str, file: str) -> str:
    return re.sub(r"^Filename:.*$", f"Filename: ./{file}", text, count=1, flags=re.MULTILINE)
