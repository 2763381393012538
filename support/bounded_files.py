"""Reads regular files up to a size, so that a link to a device or a huge file does not exhaust memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import InputError


def read_bounded(path: Path, limit_bytes: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        FileNotFoundError: the file does not exist.
        InputError: it is not a regular file, or is larger than `limit_bytes`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer does not block
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError("not a regular file", where=str(path), hint="remove it, then repeat the command")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise InputError(f"expected at most {limit_bytes >> 20} MiB, got a larger file", where=str(path))
    return content
