"""The RFC 6962 Merkle tree over SHA-256, built leaf by leaf in constant memory.

Rows: level 0 holds leaf hashes; one entry of level k is the root of 256^k leaves, the tile height of C2SP tlog-tiles.
A `Frontier` holds the incomplete row of each level, at most 255 hashes; appends and the root need no more. Clauses are
cited from RFC 9162, which defines the same tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

WIDTH = 256  # hashes per full row; C2SP tlog-tiles, "Merkle tree": tiles of height 8
LEVEL_BITS = 8  # log2(WIDTH)
HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()  # RFC 9162 2.1.1: MTH({}) = HASH()

_sha256 = hashlib.sha256


def leaf_hash(data: bytes) -> bytes:
    """RFC 9162 2.1.1: HASH(0x00 || d)."""
    return _sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 9162 2.1.1: HASH(0x01 || left || right)."""
    return _sha256(b"\x01" + left + right).digest()


def complete_root(hashes: list[bytes]) -> bytes:
    """Return the root over adjacent hashes of equal height. Their number must be a power of two."""
    assert hashes
    assert len(hashes) & (len(hashes) - 1) == 0
    while len(hashes) > 1:
        hashes = [
            _sha256(b"\x01" + left + right).digest() for left, right in zip(hashes[::2], hashes[1::2], strict=True)
        ]
    return hashes[0]


class Frontier:
    """The right edge of a growing tree.

    Args:
        size: number of leaves.
        rows: the incomplete row of each level, level 0 first, each at most 255 hashes. Their lengths are the base-256
            digits of `size`.
    """

    def __init__(self, size: int = 0, rows: Iterable[Iterable[bytes]] = ()) -> None:
        self.size = size
        self.rows = [list(row) for row in rows] or [[]]
        assert size == sum(len(row) << (LEVEL_BITS * level) for level, row in enumerate(self.rows))

    def copy(self) -> Frontier:
        """Return an independent copy. Appends change a copy, so that a failed one can be discarded."""
        twin = Frontier.__new__(Frontier)  # skips the check of __init__, because the rows are consistent
        twin.size, twin.rows = self.size, [row.copy() for row in self.rows]
        return twin

    def append(self, leaf: bytes) -> list[bytes]:
        """Add one leaf hash.

        Returns:
            The hashes of the rows that this leaf completed, level 1 first; empty for 255 of 256 leaves.
        """
        self.size += 1
        row = self.rows[0]
        row.append(leaf)
        return self._close_full_rows() if len(row) == WIDTH else []

    def _close_full_rows(self) -> list[bytes]:
        completed = []
        for level in range(len(self.rows)):
            if len(self.rows[level]) < WIDTH:
                break
            completed.append(complete_root(self.rows[level]))
            self.rows[level] = []
            if level + 1 == len(self.rows):
                self.rows.append([])
            self.rows[level + 1].append(completed[-1])
        return completed

    def root(self) -> bytes:
        """Return the root hash over all leaves (RFC 9162 2.1.1)."""
        if not self.size:
            return EMPTY_ROOT
        peaks = [peak for row in reversed(self.rows) for peak in _peaks(row)]
        root = peaks.pop()
        while peaks:
            root = node_hash(peaks.pop(), root)
        return root


def _peaks(row: list[bytes]) -> list[bytes]:
    """Return the roots of the complete subtrees of an incomplete row, largest first."""
    peaks, start = [], 0
    for bit in reversed(range(LEVEL_BITS)):
        width = 1 << bit
        if len(row) & width:
            peaks.append(complete_root(row[start : start + width]))
            start += width
    return peaks
