"""Files that a lock names: the unit of which bundles and mirrors are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class LockedFile:
    """One file of the site's mirror.

    Args:
        path: relative to the root of the mirror, with `/`, without `..`: `apt/debian-12-amd64/chrony_4.3-2_amd64.deb`.
        size: bytes.
        sha256: 64 lower-case hex digits.
        kind: `deb`, `rpm`, `wheel`, `model` or `own-file`.
    """

    path: str
    size: int
    sha256: str
    kind: str
