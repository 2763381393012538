"""Verifies media without a site: signatures, and every chunk. Lists missing and damaged chunks."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from .manifest import Chunk
from .medium import Medium
from .trust import Verified, open_bundle

BLOCK_BYTES = 1 << 20
_MAX_LIST_BYTES = 64 << 20


@dataclass(frozen=True)
class Verification:
    """Result for the media of a bundle.

    Args:
        missing: SHA-256 of chunks that no medium has intact, in the order of the manifest.
        damaged: medium and SHA-256 of chunks with other bytes.
    """

    bundle: Verified
    missing: tuple[str, ...]
    damaged: tuple[tuple[Path, str], ...]


def verify(media: Sequence[Medium], *, root_sha256: str, report: Callable[[str], object] = str) -> Verification:
    """Verify the metadata and all chunks of media.

    Raises:
        Refused: the metadata is not accepted; no chunk was read.
    """
    with tempfile.TemporaryDirectory() as folder:
        bundle = open_bundle(media, root_sha256=root_sha256, memory=Path(folder))
    missing, damaged = [], []
    for number, chunk in enumerate(bundle.manifest.chunks, 1):
        report(f"chunk {number} of {len(bundle.manifest.chunks)}")
        is_found = False
        for medium in media:
            if chunk.sha256 in medium.chunks:
                intact = is_intact(medium, chunk)
                is_found |= intact
                if not intact:
                    damaged.append((medium.root, chunk.sha256))
        if not is_found:
            missing.append(chunk.sha256)
    return Verification(bundle, tuple(missing), tuple(damaged))


def is_intact(medium: Medium, chunk: Chunk) -> bool:
    """Return whether the bytes of a chunk have its size and SHA-256. An unreadable chunk is not intact."""
    digest, size = hashlib.sha256(), 0
    try:
        for block in blocks(medium, chunk):
            digest.update(block)
            size += len(block)
    except OSError:
        return False
    return size == chunk.size and digest.hexdigest() == chunk.sha256


def blocks(medium: Medium, chunk: Chunk) -> Iterator[memoryview]:
    """Yield the bytes of a chunk, at most one block more than its size. A block is valid until the next one."""
    buffer = memoryview(bytearray(BLOCK_BYTES))
    left = chunk.size + 1
    with medium.open_chunk(chunk.sha256) as file:
        while left > 0 and (count := file.readinto(buffer)):
            left -= count
            yield buffer[:count]


def read_missing(path: Path) -> frozenset[str]:
    """Return the chunks of a `missing.txt`.

    Raises:
        InputError: unreadable, or not such a list.
    """
    try:
        lines = read_bounded(path, _MAX_LIST_BYTES).decode().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the list: {read_error_reason(error)}", where=str(path)) from None
    if not lines or not all(re.fullmatch(r"[0-9a-f]{64}", line) for line in lines):
        raise InputError("expected one SHA-256 per line", where=str(path), hint="use missing.txt of verify or import")
    return frozenset(lines)


def missing_text(missing: Sequence[str]) -> str:
    """Return the content of `missing.txt`: one SHA-256 per line, to carry to the builder."""
    return "".join(f"{each}\n" for each in missing)
