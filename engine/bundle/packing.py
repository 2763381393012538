"""Divides contents into chunks: large contents are cut, small contents share a chunk.

    pack([("aa..", 100 << 20), ("bb..", 5), ("cc..", 7)], chunk_bytes=64 << 20)
    # [[Slice("aa..", 0, 64 MiB)], [Slice("aa..", 64 MiB, 36 MiB)], [Slice("bb..", 0, 5), Slice("cc..", 0, 7)]]

Fixed cuts, because content-defined chunking found less than 1 % of equal bytes in two releases of vLLM (2026-11-23).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

CHUNK_BYTES = 64 << 20


class Slice(NamedTuple):
    """Bytes of a content."""

    content: str
    """SHA-256 of the content."""
    offset: int
    length: int


def pack(contents: Iterable[tuple[str, int]], *, chunk_bytes: int) -> Iterator[list[Slice]]:
    """Yield the slices of each chunk.

    Args:
        contents: SHA-256 and size, each once. Slices of one content are in order.
        chunk_bytes: maximum size of a chunk.
    """
    group: list[Slice] = []
    free = chunk_bytes
    for sha256, size in contents:
        if size >= chunk_bytes:
            for offset in range(0, size, chunk_bytes):
                yield [Slice(sha256, offset, min(chunk_bytes, size - offset))]
        elif size:
            if size > free:
                yield group
                group, free = [], chunk_bytes
            group.append(Slice(sha256, 0, size))
            free -= size
    if group:
        yield group
