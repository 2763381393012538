"""Folders on a node with the files of pools, and the joint digest of several files."""

from __future__ import annotations

from collections.abc import Iterable

from sovctl.support.canonical_json import sha256_hex

FOLDER = "/etc/sovctl/pools"
UNITS = "/etc/systemd/system"


def joint_sha256(each: Iterable[str | None]) -> str:
    """Return one digest of the digests of several files, in their order; None is an absent file."""
    return sha256_hex(" ".join(value or "absent" for value in each))
