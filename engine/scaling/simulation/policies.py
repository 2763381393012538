"""Policies that a simulation compares. Pure.

- `Static`: all replicas of `replicas`, around the clock.
- `Reactive`: each pool by itself, by the formula of KEDA: requests in flight / target, rounded up; removal after the
  highest value of the last 5 minutes (Kubernetes API autoscaling/v2, default of `stabilizationWindowSeconds`).
- `Scaled`: `engine.scaling.decision`, with calendar and GPUs of other pools.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Protocol

from ...sizing.pool.autoscaler import TARGET_SHARE
from ..decision import Decision, Observed, Rules, decide
from ..fleet import Fleet, Move, Phase
from ..loads import Sample
from ..observed import observe
from ..rules import Calendar

_STABILIZATION_S = 300.0


class Policy(Protocol):
    """Decides at each interval."""

    name: str

    def moves(self, fleet: Fleet, samples: Sequence[Sample], now_s: float) -> Sequence[Move]:
        """Return the moves that begin now."""


class Static:
    """Does not move."""

    name = "static"

    def moves(self, *_: object) -> Sequence[Move]:
        """Return no move."""
        return ()


class Reactive:
    """Scales each pool by its requests in flight, on its own GPUs.

    Args:
        rules: `maximum` is limited to `replicas`, the deployed replicas by pool.
    """

    name = "reactive"

    def __init__(self, rules: Rules, replicas: dict[str, int]) -> None:
        self._rules, self._replicas = rules, replicas
        self._wanted: dict[str, deque[tuple[float, int]]] = {rule.pool: deque() for rule in rules.pools}

    def moves(self, fleet: Fleet, samples: Sequence[Sample], now_s: float) -> Sequence[Move]:
        """Return one move per pool towards the wanted number."""
        found = []
        for rule in self._rules.pools:
            in_flight = sum(
                each.running + each.waiting for replica, each in samples[-1].loads.items() if replica.pool == rule.pool
            )
            assert rule.in_flight is not None  # the pool was sized
            wanted = ceil(in_flight / (TARGET_SHARE * rule.in_flight))
            wanted = min(max(wanted, rule.minimum), min(rule.maximum, self._replicas[rule.pool]))
            past = self._wanted[rule.pool]
            past.append((now_s, wanted))
            while past[0][0] < now_s - _STABILIZATION_S:
                past.popleft()
            have = fleet.of(rule.pool, Phase.AWAKE, Phase.STARTING)
            awake = fleet.of(rule.pool, Phase.AWAKE)
            idle = [each for each in fleet.of(rule.pool, Phase.IDLE) if each.index < self._replicas[rule.pool]]
            if wanted > len(have) and idle:
                found += [Move((), each, "reactive") for each in idle[: wanted - len(have)]]
            elif len(have) > max(each for _, each in past) and len(awake) > rule.minimum:
                found.append(Move((awake[-1],), None, "reactive"))
        return found


class Scaled:
    """Decides as `sovctl scaling run`.

    Args:
        midnight: begin of the simulated day, with a time zone.
    """

    name = "sovctl"

    def __init__(
        self, rules: Rules, calendar: Calendar, *, window_s: float, interval_s: float, midnight: datetime
    ) -> None:
        self._rules, self._calendar, self._midnight = rules, calendar, midnight.astimezone(UTC)
        self._window_s, self._interval_s = window_s, interval_s

    def moves(self, fleet: Fleet, samples: Sequence[Sample], now_s: float) -> Sequence[Move]:
        """Return the moves of one decision."""
        return self.decision(fleet, samples, now_s).moves

    def decision(self, fleet: Fleet, samples: Sequence[Sample], now_s: float) -> Decision:
        """Return one decision."""
        now = self._midnight + timedelta(seconds=now_s)
        seen: dict[str, Observed] = observe(
            self._rules,
            self._calendar,
            fleet,
            samples,
            now=now,
            now_s=now_s,
            window_s=self._window_s,
            interval_s=self._interval_s,
        )
        return decide(self._rules, fleet, seen, now_s=now_s)
