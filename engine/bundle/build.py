"""Builds the store of a bundle from a folder of locked files: each content once, in chunks, under TUF metadata.

Contents are compared with the lock while they are copied. Memory is constant: one block of `_BLOCK_BYTES` at a time.
An interrupted build has no timestamp, so that no medium can be written from it; a repeated build begins again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import sync_folder
from sovctl.support.errors import InputError, MissingTool

from ..lock.files import LockedFile
from ..lock.paths import check_paths
from . import signing
from .manifest import MAX_CHUNK_BYTES, TIME_FORMAT, Chunk, Content, File, Manifest, Part
from .packing import CHUNK_BYTES, Slice, pack
from .store import Store

_BLOCK_BYTES = 4 << 20
_SPARE_BYTES = 64 << 20  # for metadata and the manifest


@dataclass(frozen=True)
class Request:
    """Input of a build.

    Args:
        files: folder that contains the files of the lock.
        trust: folder with the versions of the root.
        site: audience.
        at_site: SHA-256 of contents that the site has published; omitted from the bundle.
        sequence: None for the number after the newest bundle of the store.
    """

    files: Path
    locked: Sequence[LockedFile]
    lock_sha256: str
    trust: Path
    site: str
    at_site: Collection[str] = frozenset()
    sequence: int | None = None
    chunk_bytes: int = CHUNK_BYTES
    expires_days: int = signing.EXPIRES_DAYS


def build(store: Store, request: Request, *, now: datetime) -> Manifest:
    """Write chunks, manifest and unsigned metadata; remove chunks of earlier bundles.

    Raises:
        InputError: a file is absent, is not a regular file, or differs from the lock; or a path is not allowed.
        MissingTool: the disk has too little free space.
    """
    if not 1 << 16 <= request.chunk_bytes <= MAX_CHUNK_BYTES:
        raise InputError("expected a chunk size of 64 KiB to 1 GiB", where="--chunk-size")
    sequence = store.sequence() + 1 if request.sequence is None else request.sequence
    if sequence <= store.sequence():
        raise InputError(f"expected a sequence above {store.sequence()}, got {sequence}", where="--sequence")
    locked = sorted(request.locked)
    check_paths((each.path for each in locked), where="lock")
    if different := _sizes_differ(locked):
        raise InputError(f"two sizes of one SHA-256: {different}", where="lock")
    sources = {each.sha256: each for each in reversed(locked) if each.sha256 not in request.at_site}
    _check_sources(request.files, sources)
    contents = sorted(sources.values())
    _check_space(store.root, sum(each.size for each in contents))
    chunks: dict[Chunk, int] = {}
    parts: dict[str, list[Part]] = {each.sha256: [] for each in contents}
    reader = _Reader(request.files, sources)
    with ThreadPoolExecutor(1) as helper, contextlib.closing(reader):
        for slices in pack(((each.sha256, each.size) for each in contents), chunk_bytes=request.chunk_bytes):
            chunk = _write_chunk(store, reader, slices, helper)
            index, offset = chunks.setdefault(chunk, len(chunks)), 0
            for each in slices:
                parts[each.content].append(Part(index, offset, each.length))
                offset += each.length
        reader.check_rest()
    manifest = _manifest(request, locked, chunks, parts, sequence, now)
    signing.write_targets(store, manifest, request.trust, now=now, expires_days=request.expires_days)
    _remove_unlisted(store, {each.sha256 for each in chunks})
    return manifest


def _manifest(
    request: Request,
    locked: Sequence[LockedFile],
    chunks: Collection[Chunk],
    parts: dict[str, list[Part]],
    sequence: int,
    now: datetime,
) -> Manifest:
    return Manifest(
        site=request.site,
        sequence=sequence,
        created=now.strftime(TIME_FORMAT),
        lock_sha256=request.lock_sha256,
        chunks=tuple(chunks),
        contents={
            each.sha256: Content(size=each.size, parts=tuple(parts[each.sha256]) if each.sha256 in parts else None)
            for each in locked
        },
        files=tuple(File(path=each.path, sha256=each.sha256, kind=each.kind) for each in locked),
    )


class _Reader:
    """Reads contents in order, and compares each with its SHA-256 in the lock."""

    def __init__(self, folder: Path, sources: dict[str, LockedFile]) -> None:
        self._folder, self._sources = folder, sources
        self._file: Any = None
        self._content = ""
        self._digest = hashlib.sha256()

    def blocks(self, part: Slice, helper: ThreadPoolExecutor) -> Iterator[bytes]:
        """Yield the blocks of a slice. The digest of the content is computed in the thread of `helper`."""
        if part.offset == 0:
            self.check_rest()
            self._content, self._digest = part.content, hashlib.sha256()
            self._file = open_regular(self._folder / self._sources[part.content].path)
        left = part.length
        while left:
            block = self._file.read(min(left, _BLOCK_BYTES))
            if not block:
                raise self._differs()
            hashed = helper.submit(self._digest.update, block)
            yield block
            hashed.result()
            left -= len(block)

    def check_rest(self) -> None:
        """Check the content that was read last, and close its file."""
        if self._file is not None and (self._file.read(1) or self._digest.hexdigest() != self._content):
            raise self._differs()
        self.close()

    def close(self) -> None:
        """Close the open file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _differs(self) -> InputError:
        path = self._folder / self._sources[self._content].path
        return InputError("the file differs from its SHA-256 in the lock", where=str(path), hint="fetch the file again")


def _write_chunk(store: Store, reader: _Reader, slices: Sequence[Slice], helper: ThreadPoolExecutor) -> Chunk:
    folder = store.root / "chunks"
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    digest, size = hashlib.sha256(), 0
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            for part in slices:
                for block in reader.blocks(part, helper):
                    file.write(block)
                    digest.update(block)
                    size += len(block)
            os.fchmod(file.fileno(), 0o644)
            os.fdatasync(file.fileno())
        chunk = Chunk(sha256=digest.hexdigest(), size=size)
        target = store.root / chunk.path
        target.parent.mkdir(exist_ok=True)
        Path(temporary).replace(target)
        sync_folder(target.parent)
        return chunk
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def open_regular(path: Path) -> Any:
    """Open a regular file for unbuffered reading; links and devices are refused.

    Raises:
        InputError: absent, unreadable, a link or not a regular file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"unreadable: {(error.strerror or '').lower()}", where=str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError("not a regular file", where=str(path))
    return os.fdopen(descriptor, "rb", buffering=0)


def _sizes_differ(locked: Sequence[LockedFile]) -> str | None:
    sizes: dict[str, int] = {}
    return next((each.path for each in locked if sizes.setdefault(each.sha256, each.size) != each.size), None)


def _check_sources(folder: Path, sources: dict[str, LockedFile]) -> None:
    """Compare the sizes of all files with the lock before the first byte is copied."""
    for each in sources.values():
        path = folder / each.path
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
        if size != each.size:
            raise InputError(f"expected {each.size} bytes as in the lock, got {size}", where=str(path))


def _check_space(folder: Path, needed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise MissingTool(
            f"expected {(needed + _SPARE_BYTES) / 1e9:.2f} GB of free space, got {free / 1e9:.2f} GB", where=str(folder)
        )


def _remove_unlisted(store: Store, kept: Collection[str]) -> None:
    for folder, _, names in os.walk(store.root / "chunks"):
        for name in names:
            if name not in kept:
                (Path(folder) / name).unlink()
