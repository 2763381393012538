"""Parallel layouts of one pool's server, each with its limit at the pessimistic edge or the reason for refusal. Pure.

for layout in pool_layouts(case, case.pool, demand, gpus=8):
    layout.size, layout.refused or layout.limit.point.in_flight
best_layout(pool_layouts(...))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...spec import Pool
from ...spec.types import AUTO
from .. import GIB
from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit
from .parallelism import ParallelLayout, best, layouts_that_fit
from .pool import PoolCase
from .server import precision_of

MAX_SEQS = 512
"""Largest value of `max_num_seqs: auto`; few published measurements exceed it."""


@dataclass(frozen=True)
class PoolLayout:
    """A parallel layout of a pool, with what one replica carries."""

    parallel: ParallelLayout
    pool: Pool
    """With the sizes of this layout."""
    limit: Limit | None
    refused: str = ""

    @property
    def size(self) -> str:
        """Such as `TP 4`, `TP 8 x PP 2` or `DP 8 + EP`."""
        return self.pool.spread


def pool_layouts(case: PoolCase, pool: Pool, demand: PoolDemand, gpus: int) -> Iterator[PoolLayout]:
    """Yield every layout on at most `gpus` GPUs that matches the sizes of `pool`.

    Args:
        pool: sizes other than `auto` are fixed.
        gpus: whole GPUs; a server on a MIG slice uses one slice.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    for parallel in _matching(case, pool, 1 if case.mig else gpus):
        sized = pool.model_copy(update=_sizes(parallel))
        limit = parallel.refused or limit_of(case, sized, demand)
        if isinstance(limit, str):
            yield PoolLayout(parallel, sized, None, limit)
            continue
        used = gpus // parallel.gpus * parallel.gpus / gpus
        worth = limit.point.tokens_per_s.low / parallel.gpus * used
        yield PoolLayout(replace(parallel, worth=worth), sized, limit)


def _sizes(parallel: ParallelLayout) -> dict[str, int]:
    return {
        "tensor_parallel_size": parallel.tensor_parallel_size,
        "data_parallel_size": parallel.data_parallel_size,
        "pipeline_parallel_size": parallel.pipeline_parallel_size,
    }


def best_layout(found: Sequence[PoolLayout]) -> PoolLayout | None:
    """Return the preferred layout; None if none can start."""
    chosen = best([each.parallel for each in found if not each.refused])
    return next((each for each in found if each.parallel is chosen), None)


def limit_of(case: PoolCase, pool: Pool, demand: PoolDemand) -> Limit | str:
    """Return what one replica carries, or why it cannot serve the demand.

    If `max_num_seqs` is `auto`, its largest value is used.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    server = replace(case, pool=pool.model_copy(update={"max_num_seqs": pool.max_num_seqs or MAX_SEQS})).server()
    if server.max_concurrency(pool.max_model_len) < 1:
        room, asked = server.kv_bytes() / GIB, server.sequence_bytes(pool.max_model_len) / GIB
        return f"{pool.max_model_len} tokens need {asked:.1f} GiB on each GPU, {room:.1f} GiB are available"
    limit = server.performance(demand).limit(demand)
    if limit.is_held:
        return limit
    point = limit.point
    took = {"TTFT": point.ttft.high, "ITL": point.itl.high}.get(limit.binding.value, point.e2e_s)
    return f"{limit.binding} of a single request is {took * 1e3:.0f} ms at the pessimistic edge"


def _matching(case: PoolCase, pool: Pool, gpus: int) -> Iterator[ParallelLayout]:
    found = layouts_that_fit(
        case.model,
        case.gpu,
        precision=precision_of(pool, case.model),
        gpus=gpus,
        engine_version=case.engine_version,
        link_domain=case.platform.gpus,
        gpu_memory_utilization=pool.gpu_memory_utilization,
        adapters=pool.lora.max_loras if pool.lora else 0,
        adapter_rank=pool.lora.max_lora_rank if pool.lora else 16,
        enable_expert_parallel=pool.enable_expert_parallel,
    )
    for parallel, _ in found:
        matches = all(getattr(pool, name) in (AUTO, size) for name, size in _sizes(parallel).items())
        if parallel.data_parallel_size > 1:  # only on request, because few measurements exist
            matches &= pool.enable_expert_parallel and parallel.pipeline_parallel_size == 1
        if matches:
            yield parallel
