"""Which server of an upstream, and which after it: pure, but for the dice it is given.

A conversation goes to the server that has its beginning in the KV cache: rendezvous hashing, so that every gateway and
every worker picks the same one, and a server that comes or goes moves its own share only. When that server's queue or
KV cache is over the site's thresholds, the request spills over to the least loaded one. What has no beginning worth
remembering (embeddings, rankings) goes to the less loaded of two drawn at random, which is nearly as even as the best
of all and does not send everybody to the one server that looked best a second ago (Mitzenmacher 2001).

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
"""Of a prompt whose conversation nobody named: what all chats of one application share is mostly its instructions,
some 500 tokens (guess, 2026-11). Shorter ones leave room for the first question, and the chats spread."""

WITH_BEGINNING = frozenset(
    {SurfaceName.CHAT, SurfaceName.COMPLETIONS, SurfaceName.RESPONSES, SurfaceName.MESSAGES},
)
"""APIs whose next request repeats the one before."""

# How an outlier is told; Envoy's outlier detection is alike (base_ejection_time 30 s, read 2026-11), but by errors.
SAMPLES = 32
"""Latest times to the first byte that are kept of each server."""
_FEWEST_SAMPLES = 10
_FACTOR = 3.0  # slower than the median of its peers by so much (guess, 2026-11)
_LEAST_S = 0.05  # and by so many seconds: below that a client does not notice
EJECTED_S = 30.0


class State(NamedTuple):
    """How an upstream is now, as far as anybody knows."""

    is_down: bool = False
    """None of its servers would be asked, since they keep failing."""
    is_busy: bool = False
    """All that would be asked said that they have too much to do."""
    has_long_queue: bool = False
    """The shortest queue of those is too long."""
    free_kv_tokens: int | None = None
    """Of the one with most room; None when somebody did not say."""


FINE = State()


class ServerView(Protocol):
    """What is asked of a server."""

    seed: int
    in_flight: int
    load: Load | None
    busy_until_s: float

    def is_admitting(self, now_s: float) -> bool:
        """True when it does not keep failing."""

    def is_good(self, now_s: float) -> bool:
        """True when nothing speaks against asking it."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Beyond them a server is not asked for the sake of its cache."""

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
    """Numbers of all servers, the best one first; each is worked out only when it is needed.

    Args:
        key: of the conversation or the prompt's beginning; None when neither is worth remembering.
        tokens: of prompt and answer, probably.
        draw: a random number below its argument.
    """
    good = [number for number, server in enumerate(servers) if server.is_good(now_s)]
    if not good:
        good = list(range(len(servers)))
    first = _first(servers, good, key, tokens, now_s, thresholds, draw)
    yield first
    rest = [number for number in range(len(servers)) if number != first]
    rest.sort(key=lambda number: (number not in good, *_weight(servers[number], tokens, now_s, thresholds)))
    yield from rest


def state_of(servers: Sequence[ServerView], *, now_s: float, thresholds: Thresholds) -> State:
    """How an upstream with these servers is."""
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
    """True when a request would wait there, as far as anybody knows."""
    load = server.load
    if load is None or now_s - load.at_s > thresholds.stale_after_s:
        return False
    if load.queue(server.in_flight) >= thresholds.max_queue or load.kv_usage >= thresholds.max_kv_usage:
        return True
    free = load.free_kv_tokens
    return free is not None and tokens > free


def outstanding(server: ServerView, now_s: float, thresholds: Thresholds) -> int:
    """Requests there; only our own, when nobody else counted lately."""
    load = server.load
    if load is None or now_s - load.at_s > thresholds.stale_after_s:
        return server.in_flight
    return load.outstanding(server.in_flight)


def conversation_key(key: str) -> int:
    """Of a conversation: its own digest is uniform already."""
    return int(key[:16], 16)


def prefix_key(tenant: str, beginning: bytes) -> int:
    """Of how a prompt begins; tenants share no cache, so they need not share a server.

    Whoever makes two beginnings collide on purpose only has both on one server, which spills over like any other.
    """
    return zlib.crc32(beginning[:PREFIX_BYTES], zlib.crc32(tenant.encode() + b"\0"))


def seed_of(url: str) -> int:
    """Of a server; the same everywhere and after every restart."""
    return int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "big")


def outliers(latencies_s: Sequence[Sequence[float]]) -> list[int]:
    """Numbers of servers that are far slower than their peers; never more than half of all.

    Args:
        latencies_s: of each server, its latest ones.
    """
    medians = {n: median(each) for n, each in enumerate(latencies_s) if len(each) >= _FEWEST_SAMPLES}
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
    """Every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> 32)) * _ODD & _MASK
    value = (value ^ (value >> 29)) * _ODD & _MASK
    return value ^ (value >> 32)
