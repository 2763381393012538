"""Folder of a bundle, on the builder and on media.

STORE/
  metadata/       N.root.json, N.targets.json, N.snapshot.json, timestamp.json (TUF, consistent snapshots)
  manifest.json   files, contents and chunks
  chunks/aa/      chunks, named by their SHA-256
"""

from __future__ import annotations

import re
from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from . import manifest
from .manifest import Manifest

TIMESTAMP = "metadata/timestamp.json"
_TARGETS = re.compile(r"([1-9][0-9]{0,9})\.targets\.json")


class Store:
    """Paths of a store.

    Args:
        root: folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.metadata = root / "metadata"
        self.manifest_file = root / manifest.NAME

    def sequence(self) -> int:
        """Return the number of the newest bundle; 0 without one."""
        names = (each.name for each in self.metadata.glob("*.targets.json"))
        return max((int(match[1]) for name in names if (match := _TARGETS.fullmatch(name))), default=0)

    def manifest(self) -> Manifest:
        """Return the manifest. Signatures are not verified.

        Raises:
            InputError: absent or invalid.
        """
        try:
            data = read_bounded(self.manifest_file, manifest.MAX_BYTES)
        except FileNotFoundError:
            raise InputError("no bundle", where=str(self.root), hint="build one: sovctl bundle build") from None
        return manifest.decode(data, where=str(self.manifest_file))

    def is_signed(self) -> bool:
        """Whether all roles are signed."""
        return (self.root / TIMESTAMP).exists()
