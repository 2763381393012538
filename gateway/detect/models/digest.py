"""The SHA-256 of a file, or of a whole folder, so that a site runs the model that it approved and no other.

A folder's digest is that of the list of its files as `sha256sum` prints it, sorted by name byte by byte, so that
standard tools can compute it:

    cd FOLDER && find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum

A folder that contains links or special files has no digest.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from sovctl.support.errors import InputError


def sha256_of(path: Path) -> str:
    """Return the digest of a file or folder, in hex.

    Raises:
        InputError: unreadable, or contains something other than files and folders.
    """
    try:
        if not path.is_dir():
            return _file(path)
        lines = [_file(each).encode() + b"  " + name + b"\n" for name, each in sorted(_files(path))]
    except OSError as error:
        raise InputError(
            f"expected readable files, got: {error.strerror}", where=str(error.filename or path)
        ) from error
    return hashlib.sha256(b"".join(lines)).hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Return when `path` is what was approved.

    Raises:
        InputError: it is another, or can't be read.
    """
    if (got := sha256_of(path)) != expected:
        raise InputError(
            f"expected SHA-256 {expected}, got {got}",
            where=str(path),
            hint="if this is the model you approved, write its digest into the settings",
        )


def _files(folder: Path) -> list[tuple[bytes, Path]]:
    found: list[tuple[bytes, Path]] = []
    for base, folders, files in os.walk(folder, onerror=_raise):
        for name in (*folders, *files):
            path = Path(base, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                found.append((os.fsencode(path.relative_to(folder)), path))
            elif not stat.S_ISDIR(mode):
                raise InputError("expected files and folders, got a link or a device", where=str(path))
    return found


def _file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _raise(error: OSError) -> None:
    raise error
