"""Selects the server of an upstream for a request, and the order of the others. Pure; randomness is an argument.

A conversation goes to the server with its prefix in the KV cache, by rendezvous hashing: every gateway and
every worker picks the same one, and adding or removing a server moves only its own share. If that server's queue or
KV cache exceeds the site's thresholds, the request goes to the least loaded one. Requests without a reusable prefix
(embeddings, rankings) go to the less loaded of two random servers. This is nearly as even as the minimum of
all, and does not send all requests to the server with the lowest load a second ago (Mitzenmacher 2001).

    for number in order(servers, key=affinity, tokens=700, now_s=now, thresholds=thresholds, draw=random.randrange): ...
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, Protocol

from ..settings import SurfaceName
from .load import Load

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, as in Knuth's multiplicative hashing (TAOCP 3, 6.4)
PREFIX_BYTES = 2048
"""Bytes of the prompt that identify an unnamed conversation. Chats of one application mostly share their instructions,
about 500 tokens (guess, 2026-11). With shorter instructions the first question is included, so the chats are
distributed."""

WITH_BEGINNING = frozenset(
    {SurfaceName.CHAT, SurfaceName.COMPLETIONS, SurfaceName.RESPONSES, SurfaceName.MESSAGES},
)
"""APIs whose next request repeats the previous one."""

# Detection of outliers; Envoy's is similar (base_ejection_time 30 s, read 2026-11), but uses errors.
SAMPLES = 32
"""Number of recent times to the first byte kept for each server."""
_MIN_SAMPLES = 10
_FACTOR = 3.0  # factor over the median of its peers (guess, 2026-11)
_LEAST_S = 0.05  # minimum difference in seconds; a client does not notice less
EJECTED_S = 30.0


class State(NamedTuple):
    """Current state of an upstream."""

    is_down: bool = False
    """Every server is drained, or its circuit breaker is open."""
    is_busy: bool = False
    """Every admitting server is overloaded."""
    has_long_queue: bool = False
    """The shortest of their queues is too long."""
    free_kv_tokens: int | None = None
    """Of the server with the most free tokens; None if one of them did not report it."""


FINE = State()


class ServerView(Protocol):
    """The attributes of a server that the choice uses."""

    seed: int
    in_flight: int
    load: Load | None
    busy_until_s: float

    def is_admitting(self, now_s: float) -> bool:
        """Return whether the server is not drained, and its circuit breaker admits a request."""

    def is_available(self, now_s: float) -> bool:
        """Return whether the server is admitting, not busy and not ejected."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits beyond which a server is not used for its cache."""

    max_queue: int
    max_kv_usage: float
    stale_after_s: float


def order(
    servers: Sequence[ServerView],
    *,
    key: int | None,
    tokens: int,
    now_s: float,
    thresholds: Thresholds,
    draw: Callable[[int], int],
) -> Iterator[int]:
    """Yield the numbers of all servers, the best one first; computed on demand.

    Args:
        key: of the conversation or the prompt's prefix; None if neither is reusable.
        tokens: estimated tokens of prompt and answer.
        draw: returns a random number below its argument.
    """
    good = [number for number, server in enumerate(servers) if server.is_available(now_s)]
    if not good:
        good = list(range(len(servers)))
    first = _first(servers, good, key, tokens, now_s, thresholds, draw)
    yield first
    rest = [number for number in range(len(servers)) if number != first]
    rest.sort(key=lambda number: (number not in good, *_weight(servers[number], tokens, now_s, thresholds)))
    yield from rest


def state_of(servers: Sequence[ServerView], *, now_s: float, thresholds: Thresholds) -> State:
    """Return the state of an upstream with these servers."""
    up = [server for server in servers if server.is_admitting(now_s)]
    if not up:
        return State(is_down=True)
    free = [server for server in up if server.busy_until_s <= now_s]
    if not free:
        return State(is_busy=True)
    loads = [
        (server.load, server.in_flight)
        for server in free
        if server.load is not None and now_s - server.load.at_s <= thresholds.stale_after_s
    ]
    if len(loads) < len(free):
        return FINE
    rooms = [load.free_kv_tokens for load, _ in loads]
    return State(
        has_long_queue=all(load.queue(in_flight) >= thresholds.max_queue for load, in_flight in loads),
        free_kv_tokens=None if None in rooms else max(room for room in rooms if room is not None),
    )


def is_full(server: ServerView, tokens: int, now_s: float, thresholds: Thresholds) -> bool:
    """Return whether a request would probably wait there."""
    load = server.load
    if load is None or now_s - load.at_s > thresholds.stale_after_s:
        return False
    if load.queue(server.in_flight) >= thresholds.max_queue or load.kv_usage >= thresholds.max_kv_usage:
        return True
    free = load.free_kv_tokens
    return free is not None and tokens > free


def outstanding(server: ServerView, now_s: float, thresholds: Thresholds) -> int:
    """Return the requests there; only this process's own if the last metrics are too old."""
    load = server.load
    if load is None or now_s - load.at_s > thresholds.stale_after_s:
        return server.in_flight
    return load.outstanding(server.in_flight)


def conversation_key(key: str) -> int:
    """Return the key of a conversation: its digest is already uniform."""
    return int(key[:16], 16)


def prefix_key(tenant: str, beginning: bytes) -> int:
    """Return the key of a prompt's prefix. Tenants share no cache, so they need not share a server.

    A collision only puts two prefixes on one server, which can overflow like any other.
    """
    return zlib.crc32(beginning[:PREFIX_BYTES], zlib.crc32(tenant.encode() + b"\0"))


def seed_of(url: str) -> int:
    """Return the hash seed of a server; constant across processes and restarts."""
    return int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "big")


def outliers(latencies_s: Sequence[Sequence[float]]) -> list[int]:
    """Return the numbers of servers that are far slower than their peers; at most half of all.

    Args:
        latencies_s: the recent latencies of each server.
    """
    medians = {n: median(each) for n, each in enumerate(latencies_s) if len(each) >= _MIN_SAMPLES}
    slow = []
    for number, own_s in medians.items():
        peers = [other_s for other, other_s in medians.items() if other != number]
        if peers and own_s > max(_FACTOR * (usual_s := median(peers)), usual_s + _LEAST_S):
            slow.append(number)
    slow.sort(key=lambda number: -medians[number])
    return slow[: len(latencies_s) // 2]


def _first(
    servers: Sequence[ServerView],
    good: list[int],
    key: int | None,
    tokens: int,
    now_s: float,
    thresholds: Thresholds,
    draw: Callable[[int], int],
) -> int:
    if len(good) == 1:
        return good[0]
    if key is not None:
        home = max(good, key=lambda number: _mixed(key ^ servers[number].seed))
        if not is_full(servers[home], tokens, now_s, thresholds):
            return home
        return min(good, key=lambda number: _weight(servers[number], tokens, now_s, thresholds))
    one = draw(len(good))
    other = draw(len(good) - 1)
    pair = (good[one], good[other if other < one else other + 1])
    return min(pair, key=lambda number: _weight(servers[number], tokens, now_s, thresholds))


def _weight(server: ServerView, tokens: int, now_s: float, thresholds: Thresholds) -> tuple[bool, int]:
    return is_full(server, tokens, now_s, thresholds), outstanding(server, now_s, thresholds)


def _mixed(value: int) -> int:
    """Mix the bits: every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> 32)) * _ODD & _MASK
    value = (value ^ (value >> 29)) * _ODD & _MASK
    return value ^ (value >> 32)
