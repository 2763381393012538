"""Saturation rule: spare capacity of the replicas of a pool. Pure.

A replica is saturated at 0.80 of its KV cache or 5 waiting requests. A pool needs another replica if the average spare
capacity of its replicas that are not saturated is below 0.10 of the KV cache or below 3 waiting requests.
Source: llm-d workload-variant-autoscaler, docs/saturation-analyzer.md, read 2026-11-28; values in catalog/scaling.yaml.

Sizing may limit a replica to fewer requests than its KV cache holds, because of latency limits. The usage is therefore
the larger one of KV usage and requests in flight / sized requests in flight. 0.80 - 0.10 is the target share 0.7 of
`sizing.pool.autoscaler`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .loads import Load


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the rule; see catalog/scaling.yaml for their sources."""

    kv_saturated: float
    queue_saturated: float
    kv_spare: float
    queue_spare: float
    hysteresis: float


@dataclass(frozen=True)
class Spare:
    """Average spare capacity of the replicas that are not saturated; zero if all are.

    Args:
        usage: fraction of the KV cache or of the sized requests in flight.
        queue: waiting requests.
    """

    usage: float
    queue: float

    def __str__(self) -> str:
        return f"spare usage {self.usage:.2f}, spare queue {self.queue:.1f}"


def usage(load: Load, in_flight: float | None) -> float:
    """Return the usage of a replica; 1 is full.

    Args:
        in_flight: requests in flight that the replica may have by sizing; None if unknown.
    """
    return load.kv_usage if in_flight is None else max(load.kv_usage, load.running / in_flight)


def spare(loads: Collection[Load], in_flight: float | None, limits: Thresholds) -> Spare:
    """Return the average spare capacity of the replicas of a pool."""
    free = [
        (limits.kv_saturated - used, limits.queue_saturated - load.waiting)
        for load in loads
        if (used := usage(load, in_flight)) < limits.kv_saturated and load.waiting < limits.queue_saturated
    ]
    if not free:
        return Spare(0.0, 0.0)
    return Spare(sum(each for each, _ in free) / len(free), sum(each for _, each in free) / len(free))


def needs_more(found: Spare, limits: Thresholds) -> bool:
    """Return whether a pool needs another replica."""
    return found.usage < limits.kv_spare or found.queue < limits.queue_spare


def spare_without(loads: Collection[Load], removed: int, in_flight: float | None, limits: Thresholds) -> Spare:
    """Return the spare capacity if the remaining replicas share the load of all.

    Args:
        removed: number of replicas; at least one remains.
    """
    left = len(loads) - removed
    used = sum(usage(load, in_flight) for load in loads) / left
    return Spare(limits.kv_saturated - used, limits.queue_saturated - sum(load.waiting for load in loads) / left)


def may_remove(found: Spare, limits: Thresholds) -> bool:
    """Return whether the spare capacity after a removal exceeds the trigger of a new replica by the hysteresis."""
    return found.usage >= limits.kv_spare + limits.hysteresis and found.queue >= limits.queue_spare
