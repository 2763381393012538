"""Names and files of the control frameworks that are part of sovctl. Lists folders, and reads no file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sovctl.support.package_files import package_folder

FOLDER = package_folder("compliance/packs")
_CATALOGUE = ".catalog"  # end of the stem of a file that baselines select from


@cache
def pack_files() -> dict[str, Path]:
    """Return the file of each pack by name, in the order of folders and names."""
    return {path.stem: path for path in sorted(FOLDER.glob("*/*.yaml")) if not path.stem.endswith(_CATALOGUE)}


def pack_names() -> tuple[str, ...]:
    """Return the names of the packs, in the order of folders and names."""
    return tuple(pack_files())
