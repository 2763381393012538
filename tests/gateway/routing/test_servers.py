"""Which server: the same one for a conversation as long as that is wise, an even share otherwise. Pure."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.upstream.load import Load
from sovctl.gateway.upstream.server_choice import (
    State,
    Thresholds,
    conversation_key,
    order,
    outliers,
    prefix_key,
    seed_of,
    state_of,
)

LIMITS = Thresholds(max_queue=5, max_kv_usage=0.8, stale_after_s=5.0)
FULL = Load(waiting=9, running=8, kv_usage=0.5, kv_tokens=None, at_s=0.0, in_flight=0)


@dataclass
class Fake:
    """A server that is as the test says."""

    name: str = "a"
    in_flight: int = 0
    load: Load | None = None
    is_up: bool = True
    busy_until_s: float = 0.0
    ejected_until_s: float = 0.0
    seed: int = field(init=False)

    def __post_init__(self) -> None:
        self.seed = seed_of(self.name)

    def is_admitting(self, now_s: float) -> bool:
        return self.is_up

    def is_available(self, now_s: float) -> bool:
        return self.is_up and self.busy_until_s <= now_s and self.ejected_until_s <= now_s


def named(count: int, **fields: object) -> list[Fake]:
    return [Fake(f"https://10.0.0.{number}:8000/v1", **fields) for number in range(count)]  # type: ignore[arg-type]


def numbers(servers: list[Fake], key: int | None = None, tokens: int = 10, seed: int = 0) -> list[int]:
    draw = random.Random(seed).randrange
    return list(order(servers, key=key, tokens=tokens, now_s=1.0, thresholds=LIMITS, draw=draw))


_KEYS = st.integers(0, 2**64 - 1)


@given(st.integers(1, 8), _KEYS, st.data())
def test_every_server_comes_once_and_good_ones_come_first(count: int, key: int, data: st.DataObject) -> None:
    servers = named(count)
    for server in servers:
        server.is_up = data.draw(st.booleans())
        server.in_flight = data.draw(st.integers(0, 9))
    for each in (key, None):
        got = numbers(servers, each)
        assert sorted(got) == list(range(count))
        assert all(a.is_up or not b.is_up for a, b in pairwise(servers[number] for number in got))


@given(_KEYS, st.integers(2, 6), st.data())
def test_removed_server_moves_only_its_own_conversations(key: int, count: int, data: st.DataObject) -> None:
    servers = named(count)
    home = numbers(servers, key)[0]
    gone = data.draw(st.integers(0, count - 1))
    servers[gone].is_up = False
    assert gone == home or numbers(servers, key)[0] == home
    assert numbers(servers[:gone] + servers[gone + 1 :], key)[0] == (
        numbers(servers, key)[0] - (numbers(servers, key)[0] > gone)
    )


def test_conversations_are_spread_evenly() -> None:
    servers = named(5)
    draw = random.Random(1)
    homes = Counter(numbers(servers, draw.getrandbits(64))[0] for _ in range(5000))
    assert all(850 < homes[number] < 1150 for number in range(5))


def test_a_full_home_spills_over_to_the_least_loaded() -> None:
    servers = named(3, load=Load(0, 4, 0.1, None, 0.0, 0))
    key = 12345
    home, one, other = numbers(servers, key)
    servers[home].load = FULL
    servers[other].load = Load(0, 1, 0.1, None, 0.0, 0)
    assert numbers(servers, key)[:2] == [other, one]
    servers[home].load = Load(0, 1, 0.81, None, 0.0, 0)
    assert numbers(servers, key)[0] == other
    servers[home].load = Load(0, 1, 0.5, 100, 0.0, 0)
    assert numbers(servers, key, tokens=51)[0] == other  # does not fit its cache
    assert numbers(servers, key, tokens=50)[0] == home


def test_stale_metrics_are_ignored() -> None:
    servers = named(3)
    home = numbers(servers, 1)[0]
    servers[home].load = Load(99, 9, 1.0, None, -4.1, 0)
    assert numbers(servers, 1)[0] == home


def test_what_we_sent_since_the_last_look_counts_as_queue() -> None:
    servers = named(2)
    home = numbers(servers, 1)[0]
    servers[home].load = Load(1, 8, 0.1, None, 0.9, 0)
    assert numbers(servers, 1)[0] == home
    servers[home].in_flight = 4
    assert numbers(servers, 1)[0] != home


def test_less_loaded_of_two_random_servers_is_chosen() -> None:
    servers = named(2)
    servers[0].in_flight = 1
    assert {numbers(servers, seed=seed)[0] for seed in range(20)} == {1}
    crowd = named(10)
    draw = random.Random(3)
    for _ in range(1000):
        crowd[
            next(iter(order(crowd, key=None, tokens=1, now_s=1, thresholds=LIMITS, draw=draw.randrange)))
        ].in_flight += 1
    assert max(server.in_flight for server in crowd) - min(server.in_flight for server in crowd) <= 6


def test_keys_are_the_same_everywhere_and_tell_tenants_apart() -> None:
    assert conversation_key("00000000000000ff" + "0" * 48) == 255
    assert prefix_key("a", b"x" * 5000) == prefix_key("a", b"x" * 2048 + b"other")
    assert prefix_key("a", b"x") != prefix_key("b", b"x")
    assert prefix_key("a", b"bc") != prefix_key("ab", b"c")
    assert seed_of("https://10.0.0.1:8000/v1") == 17097610745463856904


@pytest.mark.parametrize(
    ("servers", "state"),
    [
        ([Fake(is_up=False)], State(is_down=True)),
        ([Fake(is_up=False), Fake(busy_until_s=9)], State(is_busy=True)),
        ([Fake()], State()),
        ([Fake(load=FULL)], State(has_long_queue=True)),
        ([Fake(load=FULL), Fake()], State()),  # nobody knows about the other one
        ([Fake(load=FULL), Fake(is_up=False)], State(has_long_queue=True)),
        ([Fake(load=Load(0, 1, 0.5, 100, 0.0, 0)), Fake(load=Load(0, 1, 0.5, 300, 0.0, 0))], State(free_kv_tokens=150)),
        ([Fake(load=Load(0, 1, 0.5, 100, -9.0, 0))], State()),
    ],
)
def test_the_state_of_an_upstream(servers: list[Fake], state: State) -> None:
    assert state_of(servers, now_s=1.0, thresholds=LIMITS) == state


@pytest.mark.parametrize(
    ("latencies_s", "slow"),
    [
        ([[0.1] * 20, [0.1] * 20, [0.5] * 20], [2]),
        ([[0.1] * 20, [0.5] * 20], [1]),
        ([[0.1] * 20, [0.5] * 9], []),  # too few to tell
        ([[0.1] * 20, [0.25] * 20], []),
        ([[0.001] * 20, [0.04] * 20], []),  # nobody notices
        ([[0.1] * 20], []),
        ([[0.1] * 20, [1.0] * 20, [2.0] * 20, [0.1] * 20], [2, 1]),
        ([[0.1] * 20, [0.1] * 15 + [9.0] * 5], []),
        ([], []),
    ],
)
def test_a_server_far_slower_than_its_peers_is_told(latencies_s: list[list[float]], slow: list[int]) -> None:
    assert outliers(latencies_s) == slow


@given(st.lists(st.lists(st.floats(0, 100), max_size=40), max_size=8))
def test_never_more_than_half_are_outliers(latencies_s: list[list[float]]) -> None:
    assert len(outliers(latencies_s)) <= len(latencies_s) // 2
