"""Paths of the installed data files of sovctl, such as roles and lock files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def package_folder(path: str = "") -> Path:
    """Return a folder of the installed package.

    Args:
        path: relative to the package, such as "roles" or "engine/catalog/locks"; the package itself if empty.
    """
    return _PACKAGE / path


@cache
def package_text(path: Path) -> str:
    """Return the text of a file of the installed package, which is read once."""
    return path.read_text()
