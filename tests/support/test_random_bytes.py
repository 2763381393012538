"""Random bytes are the system's own, each handed out once, to one process."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.support.random_bytes import Entropy, random_bytes


class System:
    """What was fetched, to compare with what was handed out."""

    def __init__(self) -> None:
        self.fetched: list[bytes] = []

    def fetch(self, size: int) -> bytes:
        self.fetched.append(os.urandom(size))
        return self.fetched[-1]


@given(st.lists(st.integers(8, 5000), max_size=60))
def test_every_byte_is_the_systems_own_and_handed_out_once(sizes: list[int]) -> None:
    system = System()
    entropy = Entropy(system.fetch)
    taken = [entropy.take(size) for size in sizes]
    assert [len(piece) for piece in taken] == sizes
    used: list[tuple[int, int, int]] = []
    for piece in taken:
        number, start = next((n, all_.find(piece)) for n, all_ in enumerate(system.fetched) if piece in all_)
        used.append((number, start, start + len(piece)))
    used.sort()
    assert all(one[0] < two[0] or one[2] <= two[1] for one, two in itertools.pairwise(used))


def test_many_requests_cost_one_system_call() -> None:
    system = System()
    entropy = Entropy(system.fetch)
    assert len({entropy.take(16) for _ in range(256)}) == 256
    assert [len(fetched) for fetched in system.fetched] == [4096]


def test_what_was_handed_out_is_kept_nowhere() -> None:
    entropy = Entropy()
    entropy.take(100)
    before = entropy._fetched.getvalue()
    taken = entropy.take(64)
    assert taken in before
    assert entropy._fetched.getvalue() == before.replace(taken, bytes(64))


def test_two_threads_never_get_the_same_bytes() -> None:
    entropy = Entropy()
    pieces: list[list[bytes]] = [[] for _ in range(4)]
    begin = threading.Barrier(4)

    def take(mine: list[bytes]) -> None:
        begin.wait()
        mine.extend(entropy.take(12) for _ in range(20_000))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=take, args=(mine,)) for mine in pieces]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len({piece for mine in pieces for piece in mine}) == 80_000


def test_a_forked_child_starts_anew() -> None:
    code = """if True:
        import os
        from sovctl.support import random_bytes as entropy
        entropy.random_bytes(16)
        children = [os.pipe() for _ in range(3)]
        for _, end in children:
            if os.fork() == 0:
                os.write(end, entropy.random_bytes(32))
                os._exit(0)
        print(entropy.random_bytes(32).hex(), *(os.read(end, 32).hex() for end, _ in children))
    """
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    pieces = run.stdout.split()
    assert [len(piece) for piece in pieces] == [64] * 4
    assert len(set(pieces)) == 4


def test_nothing_is_given_for_less_than_nothing() -> None:
    system = System()
    entropy = Entropy(system.fetch)
    first = entropy.take(32)
    with pytest.raises(ValueError, match="got -"):
        entropy.take(-32)
    assert entropy.take(32) != first
    assert entropy.take(0) == b""
    assert len(random_bytes(16)) == 16
