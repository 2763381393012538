"""Reads the files of a lock: the folder that `sovctl lock` writes, or a list of other files.

A list is the JSON document `{"files": [{"path", "size", "sha256", "kind"}, ...]}`; other keys are allowed.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from ..lock import folder
from ..lock.files import LockedFile, files_of
from .manifest import Sha256, Size

_MAX_BYTES = 256 << 20


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True)

    path: str
    size: Size
    sha256: Sha256
    kind: str


class _Document(BaseModel):
    files: list[_Entry]


def read_lock(path: Path) -> tuple[list[LockedFile], str]:
    """Return the files of a lock, and the SHA-256 of the lock.

    Args:
        path: folder of a lock, or file with a list.

    Raises:
        InputError: unreadable, or not a lock.
    """
    if path.is_dir():
        lock = folder.read_lock(path)
        return [each.file for each in files_of(lock)], lock.sha256
    try:
        data = read_bounded(path, _MAX_BYTES)
        files = _Document.model_validate_json(data).files
    except OSError as error:
        raise InputError(f"cannot read the lock: {read_error_reason(error)}", where=str(path)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"not a lock: {place}: {first['msg'].lower()}", where=str(path)) from None
    return [LockedFile(each.path, each.size, each.sha256, each.kind) for each in files], sha256_hex(data)
