"""Files that a lock names: the unit of which bundles and mirrors are made.

for each in files_of(read_lock(Path("locks"))):
    each.file.path, each.file.size, each.file.sha256, each.url
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .bill import bill

if TYPE_CHECKING:
    from .folder import Lock

LOCK_FOLDER = "lock"
"""Folder of a bundle and a mirror with the files of `write_lock`."""
BILL = "sbom.cdx.json"


@dataclass(frozen=True, slots=True, order=True)
class LockedFile:
    """One file of the site's mirror.

    Args:
        path: relative to the root of the mirror, with `/`, without `..`: `apt/debian-12-amd64/chrony_4.3-2_amd64.deb`.
        size: bytes.
        sha256: 64 lower-case hex digits.
        kind: `deb`, `rpm`, `wheel`, `model`, `own-file`, `index` for an index of packages, or `lock` for a file of the
            lock itself and its bill of materials.
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
        content: of an index or a file of the lock, which the lock contains; empty for other files.
    """

    file: LockedFile
    url: str
    licence: str
    redistributable: str
    content: bytes = field(default=b"", repr=False)


def files_of(lock: Lock) -> tuple[SourcedFile, ...]:
    """Return every file of a lock once, and the lock itself in the folder `LOCK_FOLDER`, sorted by path.

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
    for kind_of_own, contents in (("index", _indexes(lock)), ("lock", _of_lock(lock))):
        for path, content in contents.items():
            file = LockedFile(path, len(content), sha256_hex(content), kind_of_own)
            found[path] = SourcedFile(file, "", "free", "yes", content)
    return tuple(found[path] for path in sorted(found))


def _of_lock(lock: Lock) -> dict[str, bytes]:
    """Return the files of the lock by path, so that the approver at the site can compare two locks."""
    return {
        **{f"{LOCK_FOLDER}/{name}": text.encode(errors="surrogateescape") for name, text in lock.texts().items()},
        f"{LOCK_FOLDER}/{BILL}": bill(lock),
    }


def _indexes(lock: Lock) -> dict[str, bytes]:
    """Return the apt index of each folder of packages, by path: the stanzas of all parts with files in it."""
    stanzas: dict[str, set[str]] = {}
    for part in lock.parts:
        if part.index and part.packages:
            folder = part.packages[0].path.rpartition("/")[0]
            stanzas.setdefault(f"{folder}/Packages", set()).update(filter(None, part.index.strip("\n").split("\n\n")))
    return {
        path: ("\n\n".join(sorted(each.strip("\n") for each in texts)) + "\n").encode(errors="surrogateescape")
        for path, texts in stanzas.items()
    }
