"""Decides the moves of pools from loads, phases, the calendar and bounds. Pure.

Order of the reasons for one pool; the first that applies decides:

1. Metrics of a serving replica are missing: no move, and an alert.
2. A replica is starting, waiting or draining: no move.
3. The calendar requires more replicas, or the pool is saturated: one more, unless the pool moved down within its
   cooldown, is at its maximum, or its GPUs cannot be released.
4. The load of the longer window fits on one replica fewer, with hysteresis: one fewer, unless the pool moved within
   its cooldown, is at its minimum, or the calendar requires the replica before the cooldown would end.

GPUs of another pool are released only if rule 4 permits that pool the removal.

    decide(rules, fleet, observed, now_s=now).moves
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .fleet import Direction, Fleet, Move, Phase
from .loads import Window
from .positions import Positions, ReplicaId
from .saturation import Thresholds, may_remove, needs_more, spare, spare_without


@dataclass(frozen=True)
class PoolRule:
    """Bounds and times of one pool.

    Args:
        in_flight: sized requests in flight of one replica; None if unknown.
        load_time_s: seconds from the decision to the first answer of another replica.
        cooldown_s: at least two load times.
        scale_down_after_s: length of the longer window.
    """

    pool: str
    minimum: int
    maximum: int
    in_flight: float | None
    load_time_s: float
    cooldown_s: float
    scale_down_after_s: float


@dataclass(frozen=True)
class Rules:
    """Rules of all scaled pools, in the order of site.yaml."""

    pools: tuple[PoolRule, ...]
    positions: Positions
    thresholds: Thresholds

    def of(self, pool: str) -> PoolRule:
        """Return the rule of a pool."""
        return next(each for each in self.pools if each.pool == pool)


@dataclass(frozen=True)
class Observed:
    """Inputs of one pool.

    Args:
        recent: peaks of the short window of the serving replicas; None if a metric is missing.
        longer: peaks of the longer window; None if a metric is missing, or the replicas served shorter.
        required: replicas that the calendar requires now, lead time included.
        required_soon: the same until the end of a cooldown that began now.
    """

    recent: Window | None
    longer: Window | None
    required: int = 0
    required_soon: int = 0


@dataclass(frozen=True)
class Decision:
    """Result of one decision.

    Args:
        alerts: by pool: metrics are missing, or a pool needs GPUs that are not available.
        held: reason by pool without a move.
    """

    moves: tuple[Move, ...] = ()
    alerts: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)


def decide(rules: Rules, fleet: Fleet, observed: Mapping[str, Observed], *, now_s: float) -> Decision:
    """Return the moves of all pools: at most one for each pool.

    Args:
        observed: by pool; a pool without an entry has no metrics.
        now_s: seconds since the epoch.
    """
    made = _Deciding(rules, fleet, observed, now_s)
    for rule in rules.pools:
        made.up(rule)
    for rule in rules.pools:
        made.down(rule)
    return Decision(tuple(made.moves), made.alerts, made.held)


class _Deciding:
    """One decision: each move changes the fleet that the next pool sees."""

    def __init__(self, rules: Rules, fleet: Fleet, observed: Mapping[str, Observed], now_s: float) -> None:
        self.rules, self.fleet, self.observed, self.now_s = rules, fleet, observed, now_s
        self.moves: list[Move] = []
        self.alerts: dict[str, str] = {}
        self.held: dict[str, str] = {}

    def up(self, rule: PoolRule) -> None:
        """Start another replica of a pool if it needs one."""
        pool, seen = rule.pool, self.observed.get(rule.pool)
        if seen is None or seen.recent is None:
            self.alerts[pool] = self.held[pool] = "metrics of a serving replica are missing"
            return
        if self.fleet.is_pending(pool):
            self.held[pool] = "a replica is starting, waiting or draining"
            return
        if not (reason := self._reason_up(rule, seen, seen.recent)):
            return
        if len(seen.recent) >= rule.maximum:
            self.held[pool] = f"{reason}; the pool is at its maximum of {rule.maximum}"
            return
        if rest_s := self._cooldown_s(rule, Direction.DOWN):
            self.held[pool] = f"{reason}; the pool moved down, {rest_s:.0f} s of the cooldown are left"
            return
        candidates = [
            (releases, each)
            for each in self.fleet.of(pool, Phase.IDLE)
            if (releases := self._releasable(each)) is not None
        ]
        if not candidates:
            self.alerts[pool] = self.held[pool] = f"{reason}; no GPUs are free, and no other pool can release any"
            return
        releases, replica = min(candidates, key=lambda each: (len(each[0]), each[1].index))
        self._move(Move(tuple(releases), replica, reason))

    def down(self, rule: PoolRule) -> None:
        """Release one replica of a pool if its load fits on the others."""
        pool = rule.pool
        if pool in self.held or any(pool in move.directions() for move in self.moves):
            return
        if problem := self._keeps(rule, 1):
            self.held[pool] = problem
            return
        self._move(Move((self.fleet.of(pool, Phase.AWAKE)[-1],), None, self._reason_down(rule)))

    def _reason_up(self, rule: PoolRule, seen: Observed, recent: Window) -> str:
        if len(recent) < rule.minimum:
            return f"{len(recent)} replicas serve, the minimum is {rule.minimum}"
        if len(recent) < seen.required:
            return f"the calendar requires {seen.required} replicas, {len(recent)} serve"
        found = spare(list(recent.values()), rule.in_flight, self.rules.thresholds)
        return f"saturation: {found}" if needs_more(found, self.rules.thresholds) else ""

    def _reason_down(self, rule: PoolRule) -> str:
        longer = self.observed[rule.pool].longer
        assert longer is not None
        found = spare_without(list(longer.values()), 1, rule.in_flight, self.rules.thresholds)
        return f"{found} with one replica fewer, over {rule.scale_down_after_s:.0f} s"

    def _keeps(self, rule: PoolRule, count: int) -> str:
        """Return the reason why a pool keeps `count` of its replicas; empty if it can release them."""
        seen, limits = self.observed.get(rule.pool), self.rules.thresholds
        if seen is None or seen.recent is None:
            return "metrics of a serving replica are missing"
        if self.fleet.is_pending(rule.pool):
            return "a replica is starting, waiting or draining"
        left = len(seen.recent) - count
        if left < rule.minimum:
            return f"the pool is at its minimum of {rule.minimum}"
        if left < max(seen.required, seen.required_soon):
            return f"the calendar requires {max(seen.required, seen.required_soon)} replicas"
        if rest_s := self._cooldown_s(rule, None):
            return f"{rest_s:.0f} s of the cooldown are left"
        if seen.longer is None:
            return f"the metrics do not cover {rule.scale_down_after_s:.0f} s"
        found = spare_without(list(seen.longer.values()), count, rule.in_flight, limits)
        return "" if may_remove(found, limits) else f"the load needs all replicas: {found} with {count} fewer"

    def _releasable(self, replica: ReplicaId) -> list[ReplicaId] | None:
        """Return the replicas to release before a start; None if one of them must stay."""
        blockers = self.fleet.blockers(replica, self.rules.positions)
        for pool in {each.pool for each in blockers}:
            own = [each for each in blockers if each.pool == pool]
            if pool == replica.pool or any(self.fleet.phases[each] is not Phase.AWAKE for each in own):
                return None
            if any(pool in move.directions() for move in self.moves) or self._keeps(self.rules.of(pool), len(own)):
                return None
        return blockers

    def _cooldown_s(self, rule: PoolRule, direction: Direction | None) -> float:
        """Return the remaining seconds of the cooldown after a move in a direction (None: in any); 0 without one."""
        last = self.fleet.last.get(rule.pool)
        if last is None or direction not in (None, last.direction):
            return 0.0
        return max(0.0, last.time_s + rule.cooldown_s - self.now_s)

    def _move(self, move: Move) -> None:
        self.moves.append(move)
        self.fleet = self.fleet.after(move, now_s=self.now_s)
