"""Event simulation of one day: requests, replicas, moves. Pure; the same seed gives the same day for all policies.

- A request goes to the serving replica with the fewest requests, as the gateway balances by load, and waits there if
  `max_running` requests run.
- A draining replica gets no new requests, returns its waiting ones, and becomes idle when its running ones end.
- A waiting replica starts when its GPUs are free, and serves `load_time_s` later. A starting replica holds its GPUs.

    simulate(rules, models, {"chat": [0.5, 0.7]}, Static(), replicas={"chat": 2})["chat"].violations
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random

from ..decision import Rules
from ..fleet import Fleet, Move, Phase, shared_gpus
from ..loads import Load, Sample
from ..positions import ReplicaId
from .arrivals import DAY_S
from .policies import Policy
from .service import ServiceModel


@dataclass
class PoolDay:
    """Result of one pool.

    Args:
        violations: requests above a limit of the workload.
        gpu_hours: of replicas that start, serve or drain.
        moves: begun starts and releases.
    """

    requests: int = 0
    violations: int = 0
    gpu_hours: float = 0.0
    moves: int = 0


@dataclass
class _Server:
    """Requests of one replica: the running ones, and the waiting ones with their arrival time and tokens."""

    waiting: deque[tuple[float, float]]
    running: int = 0
    requests: int = 0
    """Running and waiting."""


class _Day:
    def __init__(
        self, rules: Rules, models: Mapping[str, ServiceModel], policy: Policy, fleet: Fleet, interval_s: float
    ) -> None:
        self._rules, self._models, self._policy, self.fleet = rules, models, policy, fleet
        self._interval_s = interval_s
        self._servers = {replica: _Server(deque()) for replica in fleet.phases}
        self._serving = {rule.pool: fleet.of(rule.pool, Phase.AWAKE) for rule in rules.pools}
        self._history_s = max(rule.scale_down_after_s for rule in rules.pools) + 2 * interval_s
        self._samples: deque[Sample] = deque()
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = count()
        self.results = {rule.pool: PoolDay() for rule in rules.pools}

    def run(self, requests: Iterable[tuple[float, str, float]]) -> None:
        """Simulate until the last request ends.

        Args:
            requests: (arrival time, pool, tokens of the answer), ascending.
        """
        self._at(self._interval_s, self._tick)
        for time_s, pool, tokens in requests:
            self._advance(time_s)
            self.results[pool].requests += 1
            self._assign(pool, time_s, time_s, tokens)
        self._advance(DAY_S)

    def _at(self, time_s: float, event: Callable[[float], None]) -> None:
        heappush(self._events, (time_s, next(self._numbers), event))

    def _advance(self, until_s: float) -> None:
        while self._events and self._events[0][0] <= until_s:
            time_s, _, event = heappop(self._events)
            event(time_s)

    def _assign(self, pool: str, now_s: float, arrival_s: float, tokens: float) -> None:
        replica = min(self._serving[pool], key=lambda each: self._servers[each].requests)
        self._servers[replica].requests += 1
        self._servers[replica].waiting.append((arrival_s, tokens))
        self._begin(replica, now_s)

    def _begin(self, replica: ReplicaId, now_s: float) -> None:
        """Run waiting requests of a replica up to its limit."""
        server, model = self._servers[replica], self._models[replica.pool]
        while server.waiting and server.running < model.max_running:
            arrival_s, tokens = server.waiting.popleft()
            server.running += 1
            first_s, each_s = model.times(server.running)
            self.results[replica.pool].violations += model.violates(now_s - arrival_s + first_s, each_s)
            self._at(now_s + first_s + each_s * (tokens - 1), lambda end_s: self._end(replica, end_s))

    def _end(self, replica: ReplicaId, now_s: float) -> None:
        self._servers[replica].running -= 1
        self._servers[replica].requests -= 1
        if self.fleet.phases[replica] is Phase.DRAINING:
            self._drained(replica, now_s)
        else:
            self._begin(replica, now_s)

    def _tick(self, now_s: float) -> None:
        """Count GPU time, sample the loads, and begin the moves of the policy."""
        loads = {}
        for replica, phase in self.fleet.phases.items():
            model, server = self._models[replica.pool], self._servers[replica]
            if phase.holds_gpus:
                self.results[replica.pool].gpu_hours += model.gpus * self._interval_s / 3600
            if phase is Phase.AWAKE:
                kv_usage = min(1.0, server.running / model.kv_requests)
                loads[replica] = Load(kv_usage, len(server.waiting), server.running)
        self._samples.append(Sample(now_s, loads))
        while self._samples[0].time_s < now_s - self._history_s:
            self._samples.popleft()
        for move in self._policy.moves(self.fleet, self._samples, now_s):
            self._begin_move(move, now_s)
        assert not shared_gpus(self.fleet, self._rules.positions)
        if now_s + self._interval_s <= DAY_S:
            self._at(now_s + self._interval_s, self._tick)

    def _begin_move(self, move: Move, now_s: float) -> None:
        self.fleet = self.fleet.after(move, now_s=now_s)
        for pool in move.directions():
            self.results[pool].moves += 1
        for replica in move.releases:
            self._serving[replica.pool].remove(replica)
            returned, server = list(self._servers[replica].waiting), self._servers[replica]
            server.waiting.clear()
            server.requests = server.running
            for arrival_s, tokens in returned:
                self._assign(replica.pool, now_s, arrival_s, tokens)
            self._drained(replica, now_s)
        if move.start is not None and not move.releases:
            self._start(move.start, now_s)

    def _drained(self, replica: ReplicaId, now_s: float) -> None:
        """Free the GPUs of a draining replica without requests, and start replicas that wait for them."""
        if self._servers[replica].running:
            return
        self.fleet = self.fleet.with_phase(replica, Phase.IDLE)
        for each, phase in list(self.fleet.phases.items()):
            if phase is Phase.WAITING and not self.fleet.blockers(each, self._rules.positions):
                self._start(each, now_s)

    def _start(self, replica: ReplicaId, now_s: float) -> None:
        self.fleet = self.fleet.with_phase(replica, Phase.STARTING)
        self._at(now_s + self._rules.of(replica.pool).load_time_s, lambda _: self._ready(replica))

    def _ready(self, replica: ReplicaId) -> None:
        self.fleet = self.fleet.with_phase(replica, Phase.AWAKE)
        self._serving[replica.pool].append(replica)


def simulate(
    rules: Rules,
    models: Mapping[str, ServiceModel],
    times_s: Mapping[str, Iterable[float]],
    policy: Policy,
    *,
    replicas: Mapping[str, int],
    interval_s: float = 15.0,
    seed: int = 1,
) -> dict[str, PoolDay]:
    """Simulate a day that begins with `replicas` of each pool.

    Args:
        times_s: arrival times by pool, ascending.
        seed: of the lengths of answers.
    """
    random = Random(seed)  # noqa: S311 - a simulation
    requests = sorted((time_s, pool) for pool, times in times_s.items() for time_s in times)
    phases = {each: Phase.AWAKE if each.index < replicas[each.pool] else Phase.IDLE for each in rules.positions}
    day = _Day(rules, models, policy, Fleet(phases), interval_s)
    day.run((time_s, pool, models[pool].output_tokens(random)) for time_s, pool in requests)
    return day.results
