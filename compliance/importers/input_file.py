"""Reads a file of another tool: regular, without links, bounded, and not compressed."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

MAX_BYTES = 128 << 20  # an ARF of OpenSCAP with the whole content of Debian 11 has 8 MiB
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""First bytes of compressed files. Their size after decompression is unknown, so that they are rejected."""


def read_input(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: absent, a link, not a regular file, empty, larger than 128 MiB, or compressed.
    """
    if path.is_symlink():
        raise InputError(
            "expected a file, got a symbolic link", where=str(path), hint="give the path of the file itself"
        )
    try:
        data = read_bounded(path, MAX_BYTES)
    except OSError as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
    if not data.strip():
        raise InputError("the file is empty", where=str(path), hint="run the tool again")
    for magic, name in _COMPRESSED.items():
        if data.startswith(magic):
            hint = "decompress the file, and check its size, before the import"
            raise InputError(f"the file is compressed ({name})", where=str(path), hint=hint)
    return data
