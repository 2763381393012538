"""Random bytes for ids, nonces and data keys: the system's own, fetched 4 KiB at a time.

A system call for each id costs more than all else that is done with it, and lets another thread have the interpreter.
Here each byte comes from `os.urandom`, is handed out once, to one caller, and is overwritten where it was kept; each
thread and each forked child has bytes of its own.

    request_id = random_bytes(16).hex()

This is as safe as the system call: the bytes are the very same ones, nothing is derived or stretched, and nobody who
can't read this process's memory, where our keys are anyway, learns any of them sooner. One difference is left: when a
machine is restored twice from one snapshot of its memory, both copies hand out the same bytes until these are used
up. Hence keys that live long, in files or around other keys, are made with `os.urandom` itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from io import SEEK_CUR, BytesIO

_FETCHED_BYTES = 4096  # some 30 requests' worth


class Entropy(threading.local):
    """Random bytes, fetched ahead.

    Args:
        fetch: returns so many random bytes; an argument for tests.
    """

    def __init__(self, fetch: Callable[[int], bytes] = os.urandom) -> None:
        self._fetch = fetch
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Forget what was fetched; in a child after fork."""
        self._fetched = BytesIO()

    def take(self, size: int) -> bytes:
        """So many random bytes, which nobody else got or gets.

        Raises:
            ValueError: less than none.
        """
        if size < 0:
            raise ValueError(f"expected 0 bytes or more, got the negative number {size}")
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
