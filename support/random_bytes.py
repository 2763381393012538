"""Random bytes for ids, nonces and data keys, read from the operating system 4 KiB at a time.

A system call per id is slow and releases the interpreter lock. Every byte comes from `os.urandom`, is returned once,
and is then overwritten in the buffer. Each thread and each forked child has its own buffer.

    request_id = random_bytes(16).hex()

Difference from a system call per id: if a machine is restored twice from one memory snapshot, both copies return the
same buffered bytes. Long-lived keys (key files, wrapping keys) therefore use `os.urandom` directly.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from io import SEEK_CUR, BytesIO

_FETCHED_BYTES = 4096  # about 30 requests


class Entropy(threading.local):
    """Buffered random bytes.

    Args:
        fetch: returns the given number of random bytes; replaced in tests.
    """

    def __init__(self, fetch: Callable[[int], bytes] = os.urandom) -> None:
        self._fetch = fetch
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Discard the buffer. Called in a child process after fork."""
        self._fetched = BytesIO()

    def take(self, size: int) -> bytes:
        """Return `size` random bytes that are not returned to any other caller.

        Raises:
            ValueError: negative size.
        """
        if size < 0:
            raise ValueError(f"expected at least 0 bytes, got {size}")
        if size > _FETCHED_BYTES:
            return self._fetch(size)
        fetched = self._fetched
        taken = fetched.read(size)
        if len(taken) < size:
            fetched = self._fetched = BytesIO(self._fetch(_FETCHED_BYTES))
            taken = fetched.read(size)
        fetched.seek(-size, SEEK_CUR)
        fetched.write(bytes(size))
        return taken


_entropy = Entropy()
os.register_at_fork(after_in_child=_entropy.reset_after_fork)
random_bytes = _entropy.take
