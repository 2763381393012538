"""Files that a lock names: the unit of which bundles and mirrors are made.

for each in files_of(read_lock(Path("locks"))):
    each.file.path, each.file.size, each.file.sha256, each.url
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sovctl.support.errors import InputError

if TYPE_CHECKING:
    from .folder import Lock


@dataclass(frozen=True, slots=True, order=True)
class LockedFile:
    """One file of the site's mirror.

    Args:
        path: relative to the root of the mirror, with `/`, without `..`: `apt/debian-12-amd64/chrony_4.3-2_amd64.deb`.
        size: bytes.
        sha256: 64 lower-case hex digits.
        kind: `deb`, `rpm`, `wheel`, `model` or `own-file`.
    """

    path: str
    size: int
    sha256: str
    kind: str


@dataclass(frozen=True, slots=True, order=True)
class SourcedFile:
    """A file and the place to get it from.

    Args:
        url: empty if the operator provides the file: `own-file`, and models without a published location.
        redistributable: `yes`, `no`, `own-file` or `own-subscription`.
    """

    file: LockedFile
    url: str
    licence: str
    redistributable: str


def files_of(lock: Lock) -> tuple[SourcedFile, ...]:
    """Return every file of a lock once, sorted by path.

    Raises:
        InputError: two parts have different content at one path.
    """
    found: dict[str, SourcedFile] = {}
    for part in lock.parts:
        for each in part.packages:
            kind = "own-file" if each.redistributable == "own-file" else part.kind
            file = LockedFile(each.path, each.size, each.sha256, kind)
            known = found.setdefault(each.path, SourcedFile(file, each.url, each.licence, each.redistributable))
            if known.file.sha256 != each.sha256:
                hint = "lock all parts again from the same package sources"
                raise InputError("two parts have different content at one path", where=each.path, hint=hint)
    return tuple(found[path] for path in sorted(found))
