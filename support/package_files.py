"""Paths of the installed data files of sovctl, such as roles and lock files."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def package_folder(path: str = "") -> Path:
    """Return a folder of the installed package.

    Args:
        path: relative to the package, such as "roles" or "engine/catalog/locks"; the package itself if empty.
    """
    return _PACKAGE / path
