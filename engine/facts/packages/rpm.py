"""Parser of locked rpm packages: `dnf -q versionlock list`. Installed packages are in the form of `dpkg.py`."""

from __future__ import annotations

import re

from ..unreadable import Unreadable

# `name-epoch:version-release.arch`, as dnf 4 writes its list; the architecture is often `*`.
_LOCK = re.compile(r"^(?P<name>.+)-(?:\d+:)?[^-]+-[^-]+\.(?:\*|[a-z0-9_]+)$")


def parse_versionlock(text: str) -> frozenset[str]:
    """Parse the names of locked packages; excluded packages (`!name`) are omitted.

    Raises:
        Unreadable: a line is not `name-epoch:version-release.arch`.
    """
    names = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith(("!", "#")):
            continue
        match = _LOCK.match(line)
        if match is None:
            raise Unreadable("name-epoch:version-release.arch", line, where="dnf versionlock list")
        names.add(match["name"])
    return frozenset(names)
