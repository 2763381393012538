"""Copies chunks of media to the contents in quarantine. Resumes after any interruption.

Names of files in quarantine are digests from the signed manifest; no name of a medium is used. The bytes of a chunk
count only if its digest matches. A damaged chunk is read from another medium, or stays missing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sovctl.support.errors import MissingTool

from ..manifest import Chunk, Manifest
from ..medium import Medium
from ..trust import Refused
from ..verification import blocks
from .site_store import Quarantine, SiteStore

_SPARE_BYTES = 64 << 20


@dataclass(frozen=True)
class Received:
    """Result of one reading of media.

    Args:
        missing: SHA-256 of chunks that are still needed.
        damaged: medium and SHA-256 of chunks with other bytes.
    """

    missing: tuple[str, ...]
    damaged: tuple[tuple[Path, str], ...]


class _Target(NamedTuple):
    content: str
    in_chunk: int
    length: int
    in_content: int


def needed_contents(store: SiteStore, manifest: Manifest) -> set[str]:
    """Return the contents that the site does not have.

    Raises:
        Refused: the bundle is a delta, and omits one of them.
    """
    absent = {sha256 for sha256 in manifest.contents if not store.content(sha256).is_file()}
    if omitted := [sha256 for sha256 in absent if manifest.contents[sha256].parts is None]:
        raise Refused(
            f"{len(omitted)} contents are neither in the bundle nor at this site, such as {min(omitted)[:16]}",
            hint="export a list: sovctl import inventory; then build the bundle with --have",
        )
    return absent


def receive(
    store: SiteStore,
    quarantine: Quarantine,
    manifest: Manifest,
    media: Sequence[Medium],
    *,
    report: Callable[[str], object] = str,
) -> Received:
    """Copy all chunks that media have and the quarantine needs.

    Raises:
        MissingTool: too little free space for the missing chunks; nothing was copied.
    """
    targets = _targets(manifest, needed_contents(store, manifest))
    done = quarantine.chunks_done()
    wanted = [chunk for index, chunk in enumerate(manifest.chunks) if index in targets and chunk.sha256 not in done]
    index_of = {chunk.sha256: index for index, chunk in enumerate(manifest.chunks)}
    _check_space(quarantine.root, sum(each.size for each in wanted))
    missing, damaged = [], []
    for number, chunk in enumerate(wanted, 1):
        report(f"chunk {number} of {len(wanted)}")
        for medium in media:
            if chunk.sha256 not in medium.chunks:
                continue
            if _copy(medium, chunk, targets[index_of[chunk.sha256]], quarantine):
                quarantine.add_done(chunk.sha256)
                break
            damaged.append((medium.root, chunk.sha256))
        else:
            missing.append(chunk.sha256)
    return Received(tuple(missing), tuple(damaged))


def _targets(manifest: Manifest, needed: set[str]) -> dict[int, list[_Target]]:
    """Return the parts of needed contents in each chunk, by index of the chunk, in order of their offsets."""
    found: dict[int, list[_Target]] = {}
    for sha256 in sorted(needed):
        position = 0
        for part in manifest.contents[sha256].parts or ():
            found.setdefault(part.chunk, []).append(_Target(sha256, part.offset, part.length, position))
            position += part.length
    for each in found.values():
        each.sort(key=lambda target: target.in_chunk)
    return found


def _copy(medium: Medium, chunk: Chunk, targets: Sequence[_Target], quarantine: Quarantine) -> bool:
    """Copy the parts of a chunk. Returns False if its digest differs, or it cannot be read."""
    digest, position = hashlib.sha256(), 0
    try:
        with ExitStack() as stack:
            opened: dict[str, int] = {}
            for block in blocks(medium, chunk):
                digest.update(block)
                for target, data, offset in _overlaps(targets, block, position):
                    if target.content not in opened:
                        if len(opened) == 64:  # far below the limit of open files
                            stack.close()
                            opened.clear()
                        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                        opened[target.content] = os.open(quarantine.file(target.content), flags, 0o600)
                        stack.callback(os.close, opened[target.content])
                    _write_at(opened[target.content], data, offset)
                position += len(block)
    except OSError as error:
        if error.errno != errno.EIO:  # of the quarantine, such as a full disk
            raise
        return False
    return position == chunk.size and digest.hexdigest() == chunk.sha256


def _overlaps(
    targets: Sequence[_Target], block: memoryview, position: int
) -> Iterator[tuple[_Target, memoryview, int]]:
    """Yield the targets of a block at `position` of the chunk, with their bytes and offset in the content."""
    end = position + len(block)
    for target in targets:
        first, last = max(position, target.in_chunk), min(end, target.in_chunk + target.length)
        if first < last:
            yield target, block[first - position : last - position], target.in_content + first - target.in_chunk


def _write_at(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data, offset = data[count:], offset + count


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise MissingTool(
            f"expected {(needed + _SPARE_BYTES) / 1e9:.2f} GB of free space, got {free / 1e9:.2f} GB", where=str(folder)
        )
