"""Files under audit: listed without following links, and read with limits on their size.

An altered folder may contain links, devices, pipes or huge files. The audit reads regular files only.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

MAX_DOCUMENT_BYTES = 512 << 20  # chosen; a report of 100 nodes and 200 checks has about 60 MiB
MAX_TEXT_BYTES = 1 << 20  # chosen; checkpoints, keys, proofs and evidence records are smaller
_BLOCK_BYTES = 1 << 20


def irregular(folder: Path) -> Iterator[Path]:
    """Yield links and all other things in `folder` that are neither a regular file nor a folder, sorted."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                yield path


def file_names(folder: Path) -> list[str]:
    """Return the paths of all files below `folder`, relative to it, sorted; empty without a folder."""
    return sorted(str(Path(parent, name).relative_to(folder)) for parent, _, names in os.walk(folder) for name in names)


def content(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> bytes | None:
    """Return the content of a regular file; None if it is absent, larger than the limit, or unreadable."""
    try:
        return read_bounded(path, limit_bytes)
    except (OSError, InputError):
        return None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a regular file, read in blocks; empty if it is absent or unreadable."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ValueError: not JSON, nested too deeply, not an object, or with a repeated key or a number that is not finite.
    """
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_not_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("repeated key")
    return found


def _not_finite(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
