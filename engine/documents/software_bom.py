"""Software bill of materials: packages of the locks that nodes use, and packages in the facts of each node. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from sovctl.compliance.bom.component import Bill, Component, ComponentKind
from sovctl.compliance.documents.document import NotCollected

from ..facts.operating_system import OperatingSystem
from .lock_file import LockedPackage
from .node_facts import KnownFacts
from .site_values import Sources

Licences = Mapping[str, str]
"""SPDX expression or name of the licence by `name==version` of a wheel."""


def software_bom(sources: Sources, locks: Mapping[str, tuple[LockedPackage, ...]], licences: Licences) -> Bill:
    """Return the software of a site.

    Args:
        locks: packages of each lock that the site uses, by the name of the lock.
    """
    missing = [
        f"no packages of {node}: {known.reason}"
        for node, known in sources.facts.items()
        if isinstance(known, NotCollected)
    ]
    return Bill(
        site=sources.spec.site.name,
        tool_version=sources.tool_version,
        components=(*_wheels(sources, locks, licences), *_packages(sources)),
        simulated=sources.evidence.simulated or any(_is_simulated(known) for known in sources.facts.values()),
        incomplete=tuple(missing),
    )


def _is_simulated(known: KnownFacts | NotCollected) -> bool:
    return isinstance(known, KnownFacts) and known.facts.simulated


def _wheels(sources: Sources, locks: Mapping[str, tuple[LockedPackage, ...]], licences: Licences) -> list[Component]:
    used: dict[LockedPackage, list[str]] = {}
    for lock, packages in sorted(locks.items()):
        for package in packages:
            used.setdefault(package, []).append(lock)
    url = str(sources.spec.artifacts.wheels_url)
    merged: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for package, names in used.items():
        key = (package.origin, f"{package.name}=={package.version}")
        digests, in_locks = merged.setdefault(key, (set(), set()))
        digests.update(package.sha256)
        in_locks.update(names)
    return [_locked(*key, sorted(digests), sorted(names), url, licences) for key, (digests, names) in merged.items()]


def _locked(origin: str, key: str, digests: list[str], locks: list[str], url: str, licences: Licences) -> Component:
    name, _, version = key.partition("==")
    purl = f"pkg:{origin}/{quote(name, safe='.+-')}@{quote(version, safe='.+-')}"
    licence = licences.get(key, "")
    is_spdx = licence.startswith("spdx:")
    return Component(
        kind=ComponentKind.LIBRARY,
        ref=purl,
        name=name,
        version=version,
        purl=purl,
        sha256=digests[0] if len(digests) == 1 else "",
        permitted_sha256=tuple(digests) if len(digests) > 1 else (),
        spdx=licence.removeprefix("spdx:") if is_spdx else "",
        licence="" if is_spdx else licence,
        source=url,
        properties=(("lock", ", ".join(locks)),),
    )


def _packages(sources: Sources) -> list[Component]:
    """Return each installed version of a package once, with its nodes."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for node, known in sources.facts.items():
        if isinstance(known, KnownFacts):
            for name, package in known.facts.packages.items():
                for version in package.version.split(" and "):  # one for each architecture
                    found.setdefault((_kind(known.facts.system), name, version), []).append(node)
    return [_package(*key, nodes) for key, nodes in sorted(found.items())]


def _package(kind: str, name: str, version: str, nodes: list[str]) -> Component:
    path, _, qualifier = kind.partition("?")
    purl = f"pkg:{path}/{quote(name, safe='.+-')}@{quote(version, safe='.+-~')}" + (
        f"?{qualifier}" if qualifier else ""
    )
    return Component(
        kind=ComponentKind.LIBRARY,
        ref=purl,
        name=name,
        version=version,
        purl=purl,
        properties=(("nodes", ", ".join(nodes)), ("sha256", "not collected: the index of the mirror binds it")),
    )


_DEBIAN = frozenset({"debian", "ubuntu"})


def _kind(system: OperatingSystem) -> str:
    """Return type, namespace and qualifier of a package URL. Source: package-url/purl-spec, types deb and rpm."""
    name = system.id or "unknown"
    kind = "deb" if name in _DEBIAN else "rpm"
    return f"{kind}/{name}?distro={name}-{system.version}" if system.version else f"{kind}/{name}"
