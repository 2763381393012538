"""Manifest of a bundle: its files, their contents, and the chunks that contain them.

The manifest is a TUF target (`manifest.json`), so that signatures of the targets role cover it. A content without
parts is already published at the site: a delta omits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import InputError

from ..lock.files import LockedFile
from ..lock.paths import check_paths

NAME = "manifest.json"
MAX_BYTES = 256 << 20  # of a manifest; 200 bytes a file: a million files
MAX_CHUNK_BYTES = 1 << 30  # FAT32 ends at 4 GiB - 1; docs/bundle.md
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, Field(ge=0, lt=2**53)]
_Time = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class Part(NamedTuple):
    """A part of a content: bytes of one chunk."""

    chunk: int
    """Index in `Manifest.chunks`."""
    offset: Size
    length: Annotated[int, Field(gt=0, le=MAX_CHUNK_BYTES)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Chunk(_Model):
    """A chunk: a file `chunks/aa/<sha256>` of a store or medium."""

    sha256: Sha256
    size: Annotated[int, Field(gt=0, le=MAX_CHUNK_BYTES)]

    @property
    def path(self) -> str:
        """Path in a store or medium, and name of the TUF target."""
        return f"chunks/{self.sha256[:2]}/{self.sha256}"


class Content(_Model):
    """The bytes of one or more files."""

    size: Size
    parts: tuple[Part, ...] | None
    """In the order of the bytes; None if the content is published at the site."""


class File(_Model):
    """A file of the site's mirror."""

    path: str
    sha256: Sha256
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z-]{0,30}$")]


class Manifest(_Model):
    """All files of a bundle.

    Args:
        site: audience; other sites refuse the bundle.
        sequence: number of the bundle, from 1; equals the version of the TUF targets.
        created: time of the build in UTC. The clock of an importing site must not be earlier.
        contents: by SHA-256.
    """

    format: Literal["sovctl-bundle/1"] = "sovctl-bundle/1"
    site: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    sequence: Annotated[int, Field(ge=1, lt=2**31)]
    created: _Time
    lock_sha256: Sha256
    chunks: tuple[Chunk, ...]
    contents: dict[Sha256, Content]
    files: tuple[File, ...]

    @property
    def created_at(self) -> datetime:
        """Time of the build."""
        return datetime.strptime(self.created, TIME_FORMAT).replace(tzinfo=UTC)

    @property
    def locked_files(self) -> Iterator[LockedFile]:
        """The files with their sizes, in the order of the manifest."""
        return (LockedFile(each.path, self.contents[each.sha256].size, each.sha256, each.kind) for each in self.files)

    def encode(self) -> bytes:
        """Return the canonical JSON."""
        return canonical_json(self.model_dump(mode="json"))


def decode(data: bytes, *, where: str) -> Manifest:
    """Parse and check a manifest.

    Raises:
        InputError: another format, a path that is not allowed, or parts that do not match chunks and sizes.
    """
    try:
        manifest = Manifest.model_validate_json(data)
        _ = manifest.created_at
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"not a manifest of a bundle: {place}: {first['msg'].lower()}", where=where) from None
    except ValueError:
        raise InputError("not a manifest: created is not a time", where=where) from None
    check_paths((each.path for each in manifest.files), where=where)
    sizes = [each.size for each in manifest.chunks]
    if len({each.sha256 for each in manifest.chunks}) != len(sizes):
        raise InputError("repeated chunk", where=where)
    for sha256, content in manifest.contents.items():
        if content.parts is None:
            continue
        for index, offset, length in content.parts:
            if not 0 <= index < len(sizes) or offset + length > sizes[index]:
                raise InputError(f"content {sha256[:16]} has a part outside of its chunk", where=where)
        if sum(each.length for each in content.parts) != content.size:
            raise InputError(f"the parts of content {sha256[:16]} do not add to its size", where=where)
    if {each.sha256 for each in manifest.files} != manifest.contents.keys():
        raise InputError("files and contents differ", where=where)
    return manifest
