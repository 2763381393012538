"""Counts faulty answers by conversation and upstream, so that an upstream is asked last after two of them.

All workers share the counts in memory, and old ones are lost, which costs one more faulty answer. A hash selects the
bucket of a conversation and an upstream; in a full bucket, the oldest of eight entries is replaced. Workers do not
lock: two writes in the same microsecond may count once.

    deprioritized = DeprioritizedUpstreams.shared()               # before the workers are forked
    deprioritized.note(conversation.key, "small")
    deprioritized.note(conversation.key, "small")
    deprioritized.of(conversation.key, ["small", "large"])        # frozenset({"small"})
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable
from hashlib import blake2b

BAD_ANSWERS = 2
"""Faulty answers of an upstream in a conversation after which it is asked last."""
_ENTRY = struct.Struct("<QII")  # hash, faulty answers, order of the last write in its bucket
_PER_BUCKET = 8
_BUCKET_BYTES = _PER_BUCKET * _ENTRY.size
_BUCKETS = 2048  # 16,384 conversations and upstreams in 256 KiB
_HEAD_BYTES = 8  # the first is 1 once an answer was counted
_MOST = 2**32 - 1

_NONE: frozenset[str] = frozenset()


class DeprioritizedUpstreams:
    """Faulty answers by conversation and upstream.

    Args:
        memory: `size_bytes` of zeros, for any number of buckets; allocated if None.
    """

    def __init__(self, memory: bytearray | mmap.mmap | None = None) -> None:
        self._memory = memory if memory is not None else bytearray(size_bytes())
        self._buckets = (len(self._memory) - _HEAD_BYTES) // _BUCKET_BYTES

    @classmethod
    def shared(cls) -> DeprioritizedUpstreams:
        """Return one in memory that forked processes share."""
        return cls(mmap.mmap(-1, size_bytes()))

    def note(self, conversation: str, upstream: str) -> None:
        """Count a faulty answer."""
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
        """Return those of `upstreams` to ask last in a conversation."""
        if not self._memory[0]:
            return _NONE
        return frozenset(name for name in upstreams if self._count(_key(conversation, name)) >= BAD_ANSWERS)

    def _count(self, key: int) -> int:
        return next((count for found, count, _ in self._bucket(key)[1] if found == key), 0)

    def _bucket(self, key: int) -> tuple[int, list[tuple[int, int, int]]]:
        start = _HEAD_BYTES + key % self._buckets * _BUCKET_BYTES
        return start, list(_ENTRY.iter_unpack(self._memory[start : start + _BUCKET_BYTES]))


def size_bytes(buckets: int = _BUCKETS) -> int:
    """Return the size of the memory for a number of buckets."""
    return _HEAD_BYTES + buckets * _BUCKET_BYTES


def _key(conversation: str, upstream: str) -> int:
    """Return the hash of an entry; not 0, which marks an empty one."""
    return int.from_bytes(blake2b(f"{conversation}\0{upstream}".encode(), digest_size=8).digest(), "little") or 1
