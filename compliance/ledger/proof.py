"""Inclusion and consistency proofs of RFC 9162: creation from row hashes, and verification.

A `Rows` function returns the hashes of a range of one level (see `merkle`), from files or from memory. A proof needs a
few hundred hashes, independent of the size of the log. Verification does not need the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from .merkle import EMPTY_ROOT, LEVEL_BITS, complete_root, node_hash

Rows = Callable[[int, int, int], list[bytes]]
"""`rows(level, start, stop)`: root hashes of complete subtrees of 256^level leaves, left to right."""


def inclusion_proof(rows: Rows, index: int, size: int) -> list[bytes]:
    """Return the audit path of leaf `index` in the tree of `size` leaves, the leaf's sibling first (RFC 9162 2.1.3.1).

    Raises:
        ValueError: expected 0 <= index < size.
    """
    return _audit_path(partial(subtree_root, rows), index, size)


def inclusion_proofs(rows: Rows, indices: Iterable[int], size: int) -> dict[int, list[bytes]]:
    """Return the audit path of each leaf in `indices` in the tree of `size` leaves, by leaf index.

    Every subtree is hashed once: 18,600 paths take 0.1 s, and 4.7 s if each is computed alone.

    Raises:
        ValueError: expected 0 <= index < size.
    """

    @cache
    def root(start: int, end: int) -> bytes:
        width = end - start
        level, rest = divmod(width.bit_length() - 1, LEVEL_BITS)
        if rest or width & (width - 1):
            middle = start + _split(width)
            return node_hash(root(start, middle), root(middle, end))
        shift = LEVEL_BITS * level
        return complete_root(rows(level, start >> shift, end >> shift))

    return {index: _audit_path(root, index, size) for index in indices}


def _audit_path(root: Callable[[int, int], bytes], index: int, size: int) -> list[bytes]:
    if not 0 <= index < size:
        raise ValueError(f"expected an index from 0 to {size - 1}, got {index}")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(root(middle, end))
            end = middle
        else:
            path.append(root(start, middle))
            start = middle
    return path[::-1]


def consistency_proof(rows: Rows, old_size: int, size: int) -> list[bytes]:
    """Return the proof that the tree of `size` leaves extends the tree of `old_size` leaves (RFC 9162 2.1.4.1).

    Empty for equal sizes and for an old size of 0.

    Raises:
        ValueError: expected 0 <= old_size <= size.
    """
    if not 0 <= old_size <= size:
        raise ValueError(f"expected an old size from 0 to {size}, got {old_size}")
    if old_size in (0, size):
        return []
    path, start, end, is_whole = [], 0, size, True
    while old_size != end:
        middle = start + _split(end - start)
        if old_size <= middle:
            path.append(subtree_root(rows, middle, end))
            end = middle
        else:
            path.append(subtree_root(rows, start, middle))
            start, is_whole = middle, False
    if not is_whole:
        path.append(subtree_root(rows, start, end))
    return path[::-1]


def subtree_root(rows: Rows, start: int, end: int) -> bytes:
    """Return the root over the leaves `start` to `end`. `start` is a multiple of the next power of two of the width."""
    width = end - start
    if width & (width - 1):
        middle = start + _split(width)
        return node_hash(subtree_root(rows, start, middle), subtree_root(rows, middle, end))
    level = (width.bit_length() - 1) // LEVEL_BITS
    shift = LEVEL_BITS * level
    return complete_root(rows(level, start >> shift, end >> shift))


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Return whether `path` proves `leaf` at `index` in the tree of `size` leaves with `root` (RFC 9162 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    position, last, current = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if position & 1 or position == last:
            current = node_hash(sibling, current)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and current == root


def verify_consistency(old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Return whether the tree (`size`, `root`) extends the tree (`old_size`, `old_root`) (RFC 9162 2.1.4.2)."""
    if old_size > size or old_size < 0:
        return False
    if old_size == size:
        return not path and old_root == root
    if old_size == 0:
        return not path and old_root == EMPTY_ROOT
    if not path:
        return False
    hashes = list(path)
    if not old_size & (old_size - 1):  # for a power of two, the path omits the old root
        hashes.insert(0, old_root)
    position, last = old_size - 1, size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old_current = current = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_current = node_hash(sibling, old_current)
            current = node_hash(sibling, current)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and old_current == old_root and current == root


def _split(width: int) -> int:
    """Return the largest power of two below `width`, which is at least 2 (RFC 9162 2.1.1)."""
    return 1 << ((width - 1).bit_length() - 1)
