"""Paths of files in a bundle: relative, portable, and free of names with a special meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sovctl.support.errors import InputError

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+~=@%,:-]*")
_MAX_PART, _MAX_PATH = 255, 1024  # bytes; NAME_MAX of ext4, and far below PATH_MAX with the folder of a snapshot


def path_problem(path: str) -> str | None:
    """Return why a path is not allowed in a bundle; None if it is."""
    if not path or len(path) > _MAX_PATH:
        return f"expected a path of 1 to {_MAX_PATH} characters, got {len(path)}"
    if path.startswith("/"):
        return "absolute path"
    parts = path.split("/")
    if ".." in parts:
        return "path with `..`"
    if any(len(part) > _MAX_PART for part in parts):
        return f"name of more than {_MAX_PART} characters"
    if not all(_PART.fullmatch(part) for part in parts):
        return "name with characters other than letters, digits and `_.+~=@%,:-`, or that begins with `.` or `-`"
    return None


def check_paths(paths: Iterable[str], *, where: str) -> None:
    """Check all paths of a bundle.

    Raises:
        InputError: a path is not allowed, is repeated, or is also the folder of another path.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        if problem := path_problem(path):
            raise InputError(f"{problem}: {path[:80]!r}", where=where)
        if path in seen:
            raise InputError(f"repeated path {path}", where=where)
        seen.add(path)
        folders |= {path[:index] for index, letter in enumerate(path) if letter == "/"}
    if both := seen & folders:
        raise InputError(f"path is a file and a folder: {min(both)}", where=where)
