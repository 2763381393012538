"""Loads of replicas from samples of vLLM's metrics: peaks over a window. Pure.

The window is None if a replica that serves has no samples, old ones, or a gap; its pool does not move then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .positions import ReplicaId


@dataclass(frozen=True)
class Load:
    """Load of one replica: a sample, or the peaks of a window.

    Args:
        kv_usage: `vllm:kv_cache_usage_perc`, 0 to 1.
        waiting: `vllm:num_requests_waiting`.
        running: `vllm:num_requests_running`.
    """

    kv_usage: float
    waiting: float
    running: float

    def peak(self, other: Load) -> Load:
        """Return the larger value of each quantity."""
        return Load(
            max(self.kv_usage, other.kv_usage), max(self.waiting, other.waiting), max(self.running, other.running)
        )


@dataclass(frozen=True)
class Sample:
    """Loads at one time, by replica.

    Args:
        time_s: seconds since the epoch.
    """

    time_s: float
    loads: Mapping[ReplicaId, Load]


Window = Mapping[ReplicaId, Load]
"""Peaks by replica."""


def peaks(
    samples: Iterable[Sample],
    replicas: Collection[ReplicaId],
    *,
    now_s: float,
    length_s: float,
    gap_s: float,
    is_complete: bool,
) -> Window | None:
    """Return the peaks of replicas over the last `length_s` seconds.

    Args:
        samples: in the order of time.
        replicas: that serve.
        gap_s: longest time between two samples of a replica, and between the last one and now.
        is_complete: whether the samples of each replica must cover the whole window. A replica that began to serve in
            the window has no earlier samples.

    Returns:
        None if samples of one of the replicas are missing.
    """
    begin_s = now_s - length_s
    last_s = dict.fromkeys(replicas, begin_s) if is_complete else {}
    found: dict[ReplicaId, Load] = {}
    for sample in samples:
        if not begin_s <= sample.time_s <= now_s:
            continue
        for replica in replicas:
            if (load := sample.loads.get(replica)) is None:
                continue
            if sample.time_s - last_s.get(replica, sample.time_s) > gap_s:
                return None
            last_s[replica] = sample.time_s
            found[replica] = load.peak(found.get(replica, load))
    if any(replica not in found or now_s - last_s[replica] > gap_s for replica in replicas):
        return None
    return found
