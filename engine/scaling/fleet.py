"""Phases of the replicas of scaled pools, and the moves between them. Pure.

- A replica holds its GPUs while it is starting, awake or draining. A waiting replica starts when its GPUs are free.
- No two holders have a GPU in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from .positions import Positions, ReplicaId


class Phase(StrEnum):
    """Phase of a replica."""

    IDLE = "idle"  # asleep or stopped
    WAITING = "waiting"  # for GPUs of draining replicas
    STARTING = "starting"
    AWAKE = "awake"
    DRAINING = "draining"

    @property
    def holds_gpus(self) -> bool:
        """Whether no other replica may use the GPUs."""
        return self in (Phase.STARTING, Phase.AWAKE, Phase.DRAINING)

    @property
    def is_pending(self) -> bool:
        """Whether the phase ends without a decision."""
        return self in (Phase.WAITING, Phase.STARTING, Phase.DRAINING)


class Direction(StrEnum):
    """Direction of a move of a pool."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class LastMove:
    """Newest move of a pool.

    Args:
        time_s: seconds since the epoch.
    """

    time_s: float
    direction: Direction


@dataclass(frozen=True)
class Move:
    """One step of a decision: replicas to drain, then a replica to start.

    Args:
        releases: replicas that are drained and become idle; of other pools if `start` uses their GPUs.
        start: None if the move only releases.
    """

    releases: tuple[ReplicaId, ...]
    start: ReplicaId | None
    reason: str

    def directions(self) -> dict[str, Direction]:
        """Return the direction of each pool that moves."""
        found = {each.pool: Direction.DOWN for each in self.releases}
        return found | ({self.start.pool: Direction.UP} if self.start else {})

    def __str__(self) -> str:
        parts = [f"release {each}" for each in self.releases] + ([f"start {self.start}"] if self.start else [])
        return ", ".join(parts)


@dataclass(frozen=True)
class Fleet:
    """Phases of all replicas of the scaled pools.

    Args:
        last: newest move by pool.
    """

    phases: Mapping[ReplicaId, Phase]
    last: Mapping[str, LastMove] = field(default_factory=dict)

    def of(self, pool: str, *phases: Phase) -> list[ReplicaId]:
        """Return the replicas of a pool in one of these phases, by index; in all phases without any."""
        return sorted(
            each for each, phase in self.phases.items() if each.pool == pool and (not phases or phase in phases)
        )

    def is_pending(self, pool: str) -> bool:
        """Return whether a replica of the pool is starting, waiting or draining."""
        return any(self.phases[each].is_pending for each in self.of(pool))

    def blockers(self, replica: ReplicaId, positions: Positions) -> list[ReplicaId]:
        """Return the replicas that hold, or wait for, GPUs of a replica."""
        return [
            each
            for each, phase in sorted(self.phases.items())
            if each != replica and phase is not Phase.IDLE and positions[each].conflicts(positions[replica])
        ]

    def with_phase(self, replica: ReplicaId, phase: Phase) -> Fleet:
        """Return the fleet with another phase of one replica."""
        return replace(self, phases={**self.phases, replica: phase})

    def after(self, move: Move, *, now_s: float) -> Fleet:
        """Return the fleet at the beginning of a move."""
        changed = dict(self.phases)
        for each in move.releases:
            changed[each] = Phase.DRAINING
        if move.start is not None:
            changed[move.start] = Phase.WAITING if move.releases else Phase.STARTING
        last = {pool: LastMove(now_s, direction) for pool, direction in move.directions().items()}
        return Fleet(changed, {**self.last, **last})


def shared_gpus(fleet: Fleet, positions: Positions) -> list[tuple[str, int]]:
    """Return the GPUs that more than one replica holds; always empty, and checked before each move."""
    held: dict[tuple[str, int], ReplicaId] = {}
    shared = []
    for replica, phase in sorted(fleet.phases.items()):
        if phase.holds_gpus:
            for gpu in positions[replica].gpus:
                if gpu in held:
                    shared.append(gpu)
                held[gpu] = replica
    return shared
