"""Every way to spread one pool's server over GPUs, with what it then carries at the pessimistic edge, or why it can't.

for way in spreads(case, case.pool, demand, gpus=8):
    way.size, way.refused or way.limit.point.in_flight
best_of(spreads(...))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...spec import Pool
from ...spec.types import AUTO
from .. import GIB
from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit
from ..performance.replica_model import ExpertMode
from .parallelism import Way, best, startable
from .pool import PoolCase
from .server import precision_of

MOST_SEQS = 512
"""Requests at once that `auto` goes up to; beyond, published measurements are few."""


@dataclass(frozen=True)
class Spread:
    """One way."""

    way: Way
    pool: Pool
    """With these sizes."""
    limit: Limit | None
    refused: str = ""

    @property
    def size(self) -> str:
        """Such as `TP 4`, `TP 8 x PP 2` or `DP 8 + EP`."""
        return self.pool.spread


def spreads(case: PoolCase, pool: Pool, demand: PoolDemand, gpus: int) -> Iterator[Spread]:
    """Every way that `pool` leaves open, over at most `gpus` GPUs.

    Args:
        pool: sizes that are not `auto` are kept.
        gpus: whole ones; a server on a MIG slice has that one alone.

    Raises:
        InputError: the catalogue does not know enough of the model's shape.
    """
    for way in _ways(case, pool, 1 if case.mig else gpus):
        sized = pool.model_copy(update=_sizes(way))
        limit = way.refused or limit_of(case, sized, demand)
        if isinstance(limit, str):
            yield Spread(way, sized, None, limit)
            continue
        used = gpus // way.gpus * way.gpus / gpus
        worth = limit.point.tokens_per_s.low / way.gpus * used
        yield Spread(replace(way, worth=worth), sized, limit)


def _sizes(way: Way) -> dict[str, int]:
    is_apart = way.expert_mode is ExpertMode.EXPERT
    return {
        "tensor_parallel_size": 1 if is_apart else way.tensor_parallel_size,
        "data_parallel_size": way.tensor_parallel_size if is_apart else 1,
        "pipeline_parallel_size": way.pipeline_parallel_size,
    }


def best_of(found: Sequence[Spread]) -> Spread | None:
    """The way to take; None when none can start."""
    chosen = best([each.way for each in found if not each.refused])
    return next((each for each in found if each.way is chosen), None)


def limit_of(case: PoolCase, pool: Pool, demand: PoolDemand) -> Limit | str:
    """What a replica carries, or why it can't; where `max_num_seqs` is open, with as many as `auto` goes up to.

    Raises:
        InputError: the catalogue does not know enough of the model's shape.
    """
    server = replace(case, pool=pool.model_copy(update={"max_num_seqs": pool.max_num_seqs or MOST_SEQS})).server()
    if server.sessions(pool.max_model_len) < 1:
        room, asked = server.kv_bytes() / GIB, server.session_bytes(pool.max_model_len) / GIB
        return f"{pool.max_model_len} tokens take {asked:.1f} GiB on each GPU, {room:.1f} are left for them"
    limit = server.performance(demand).limit(demand)
    if limit.is_held:
        return limit
    point = limit.point
    took = {"TTFT": point.ttft.high, "ITL": point.itl.high}.get(limit.binding.value, point.e2e_s)
    return f"{limit.binding} of a single request is {took * 1e3:.0f} ms at the pessimistic edge"


def _ways(case: PoolCase, pool: Pool, gpus: int) -> Iterator[Way]:
    found = startable(
        case.model,
        case.gpu,
        precision=precision_of(pool, case.model),
        gpus=gpus,
        vllm=case.vllm,
        link_domain=case.platform.gpus,
        gpu_memory_utilization=pool.gpu_memory_utilization,
        adapters=pool.lora.max_loras if pool.lora else 0,
        adapter_rank=pool.lora.max_lora_rank if pool.lora else 16,
        has_whole_experts=pool.enable_expert_parallel,
    )
    for way, _ in found:
        is_asked = all(getattr(pool, name) in (AUTO, size) for name, size in _sizes(way).items())
        if way.expert_mode is ExpertMode.EXPERT:  # off unless site.yaml says so: few measurements stand behind it
            is_asked &= pool.enable_expert_parallel and way.pipeline_parallel_size == 1
        if is_asked:
            yield way
