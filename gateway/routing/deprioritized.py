"""Remembers in which conversations an upstream has given bad answers, so that it is asked last there from then on.

All workers of a gateway remember together, in memory that they share, and only for a while: forgetting costs one more
bad answer. A conversation and an upstream have their place by a hash; where eight others have theirs already, the one
that was longest without a bad answer is forgotten. Workers don't wait for each other: what two of them write in the
same microsecond may count once.

    latch = DeprioritizedUpstreams.shared()               # before the workers are forked
    latch.note(conversation.key, "small")
    latch.note(conversation.key, "small")
    latch.of(conversation.key, ["small", "large"])      # frozenset({"small"})
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable
from hashlib import blake2b

BAD_ANSWERS = 2
"""Of one upstream in one conversation: one may be chance."""
_ENTRY = struct.Struct("<QII")  # hash, bad answers, when: larger is later, within a bucket
_PER_BUCKET = 8
_BUCKET_BYTES = _PER_BUCKET * _ENTRY.size
_BUCKETS = 2048  # 16,384 conversations and upstreams in 256 KiB
_HEAD_BYTES = 8  # whether there is anything
_MOST = 2**32 - 1

_NOBODY: frozenset[str] = frozenset()


class DeprioritizedUpstreams:
    """Bad answers by conversation and upstream.

    Args:
        memory: zeros, `size_bytes` for some number of buckets; its own when None.
    """

    def __init__(self, memory: bytearray | mmap.mmap | None = None) -> None:
        self._memory = memory if memory is not None else bytearray(size_bytes())
        self._buckets = (len(self._memory) - _HEAD_BYTES) // _BUCKET_BYTES

    @classmethod
    def shared(cls) -> DeprioritizedUpstreams:
        """One for this process and those that it forks."""
        return cls(mmap.mmap(-1, size_bytes()))

    def note(self, conversation: str, upstream: str) -> None:
        """It has given a bad answer there."""
        key = _key(conversation, upstream)
        start, entries = self._bucket(key)
        last = max(when for _, _, when in entries)
        place = next((place for place, (found, _, _) in enumerate(entries) if found == key), None)
        if place is None:
            place = min(range(_PER_BUCKET), key=lambda each: entries[each][2])
            count = 1
        else:
            count = min(_MOST, entries[place][1] + 1)
        _ENTRY.pack_into(self._memory, start + place * _ENTRY.size, key, count, min(_MOST, last + 1))
        self._memory[0] = 1

    def of(self, conversation: str, upstreams: Iterable[str]) -> frozenset[str]:
        """Those of `upstreams` that are asked last there."""
        if not self._memory[0]:
            return _NOBODY
        return frozenset(name for name in upstreams if self._count(_key(conversation, name)) >= BAD_ANSWERS)

    def _count(self, key: int) -> int:
        return next((count for found, count, _ in self._bucket(key)[1] if found == key), 0)

    def _bucket(self, key: int) -> tuple[int, list[tuple[int, int, int]]]:
        start = _HEAD_BYTES + key % self._buckets * _BUCKET_BYTES
        return start, list(_ENTRY.iter_unpack(self._memory[start : start + _BUCKET_BYTES]))


def size_bytes(buckets: int = _BUCKETS) -> int:
    """Of the memory of a latch."""
    return _HEAD_BYTES + buckets * _BUCKET_BYTES


def _key(conversation: str, upstream: str) -> int:
    """Never 0, which is an empty place."""
    return int.from_bytes(blake2b(f"{conversation}\0{upstream}".encode(), digest_size=8).digest(), "little") or 1
