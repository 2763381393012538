"""Parses a lock of an environment: names, versions and permitted digests. Pure.

    aiohttp==3.14.5 ; python_version < "3.14" \\
        --hash=sha256:0133c3c3...
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sovctl.support.errors import InputError

_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True)
class LockedPackage:
    """A package of a lock.

    Args:
        name: normalized (PEP 503).
        sha256: digests of the permitted files, in the order of the lock.
        origin: type and namespace of its package URL.
    """

    name: str
    version: str
    sha256: tuple[str, ...]
    origin: str = "pypi"


def parse_lock(text: str, *, where: str) -> tuple[LockedPackage, ...]:
    """Return the packages of a lock, in its order.

    Raises:
        InputError: a package without digest, or a line of another form.
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        package, digests = _PACKAGE.match(entry), tuple(_HASH.findall(entry))
        if package is None or not digests:
            raise InputError(f"expected `name==version` with digests, got {entry[:60]}", where=where)
        found.append(LockedPackage(re.sub(r"[-_.]+", "-", package[1]).lower(), package[2], digests))
    return tuple(found)


_DEB = re.compile(r"([0-9a-f]{64})  \S+/([a-z0-9][a-z0-9+.-]+)_([^_/]+)_[a-z0-9]+\.deb")


def parse_deb_lock(text: str, *, where: str) -> tuple[LockedPackage, ...]:
    """Return the packages of a lock of Debian packages, in its order; versions without their epoch.

    Raises:
        InputError: a line of another form than `SHA-256  path`.
    """
    found = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        package = _DEB.fullmatch(line)
        if package is None:
            raise InputError(f"expected a SHA-256 and the path of a package, got {line[:60]}", where=where)
        found.append(LockedPackage(package[2], package[3], (package[1],), "deb/debian"))
    return tuple(found)
