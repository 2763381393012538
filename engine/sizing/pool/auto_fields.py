"""What site.yaml leaves to sizing: sizes of tensor, pipeline and data parallelism, `replicas`, `max_model_len` and
`max_num_seqs` that say `auto`, made into numbers at the pessimistic edge. Pure, and the same every time.

    spec, problems = settle(spec, load_catalog())

Where nothing can be found, a problem says the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from sovctl.support.errors import InputError, Problem

from ...catalog import Catalog
from ...spec import MAX_REPLICAS, Pool, SiteSpec
from ...spec.types import AUTO
from ...spec.workload import WorkloadClass
from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit
from .layouts import MAX_SEQS, PoolLayout, best_layout, limit_of, pool_layouts
from .pool import PoolCase, need_of, pool_cases

_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
FIELDS = (*_SIZES, "max_model_len", "max_num_seqs", "replicas")
_LEN_STEP = 1024  # `max_model_len: auto` is a multiple of it


class _NotFound(Exception):
    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.field, self.message, self.hint = field, message, hint


def resolve_auto_fields(spec: SiteSpec, catalog: Catalog) -> tuple[SiteSpec, list[Problem]]:
    """The site with numbers for every `auto` that can be settled, and a problem for every one that can't."""
    if not any(_open(pool) for pool in spec.pools):
        return spec, []
    context = {model.name: known.max_context for model in spec.models if (known := catalog.models.get(model.catalog))}
    # A pool whose model or machine is not known has no case: other rules say that, and need numbers meanwhile.
    pools, problems = [with_default_sizes(pool, context.get(pool.model)) for pool in spec.pools], []
    for case in pool_cases(spec, catalog):
        if not _open(case.pool):
            continue
        try:
            pools[case.index] = _settled(case)
        except _NotFound as error:
            where = f"pools[{case.index}].{error.field}"
            problems.append(Problem(error.message, where=where, hint=error.hint))
        except InputError as error:
            where = f"pools[{case.index}].{_open(case.pool)[0]}"
            of = f" ({error.where})" if error.where else ""
            problems.append(Problem(error.message + of, where=where, hint=error.hint or "write the numbers yourself"))
    return spec.model_copy(update={"pools": pools}), problems


def _open(pool: Pool) -> list[str]:
    return [name for name in FIELDS if getattr(pool, name) == AUTO]


def with_default_sizes(pool: Pool, context: int | None) -> Pool:
    """Some numbers for what is open, so that other rules can go on without finding fault with them.

    Args:
        context: of its model, where that is known.
    """
    numbers = dict.fromkeys(_open(pool), 1)
    if "max_model_len" in numbers:
        numbers["max_model_len"] = context or 1 << 24
    return pool.model_copy(update=numbers)


def _settled(case: PoolCase) -> Pool:
    if case.is_simulated:
        hint = "write the numbers yourself; sizing is for GPUs"
        raise _NotFound(_open(case.pool)[0], "expected a number with `vllm-cpu`, got `auto`", hint)
    # Where nobody says what is asked, a server is laid out for chat; how many there are can't be told.
    demand = case.demand or PoolDemand.of([WorkloadClass(name="any", pool=case.pool.name, users=1)])
    assert demand is not None
    pool = case.pool.model_copy(update=_length(case, demand))
    pool, limit = _spread(case, pool, demand)
    if pool.max_num_seqs == AUTO:
        pool = pool.model_copy(update={"max_num_seqs": _seqs(pool, limit)})
    if pool.replicas == AUTO:
        pool = pool.model_copy(update={"replicas": _replicas(replace(case, pool=pool))})
    return pool


def _seqs(pool: Pool, limit: Limit) -> int:
    """Of each rank, as vLLM counts it."""
    return max(1, min(MAX_SEQS, int(limit.point.in_flight / pool.data_parallel_size)))


def _length(case: PoolCase, demand: PoolDemand) -> Mapping[str, int]:
    """`max_model_len`: what one call in a hundred passes, in whole steps, within the model's context."""
    if case.pool.max_model_len != AUTO:
        return {}
    wanted = ceil(demand.model_len_p99 / _LEN_STEP) * _LEN_STEP
    return {"max_model_len": min(wanted, case.model.max_context or wanted)}


def _spread(case: PoolCase, pool: Pool, demand: PoolDemand) -> tuple[Pool, Limit]:
    """Tensor and pipeline parallelism, and what a replica then carries."""
    if AUTO not in (getattr(pool, name) for name in _SIZES):
        limit = limit_of(case, pool, demand)
        if isinstance(limit, str):
            raise _NotFound(_open(case.pool)[0], f"expected a server that can work, got one where {limit}", _HINT)
        return pool, limit
    found: list[PoolLayout] = []
    for gpus in dict.fromkeys((case.platform.gpus, case.platform.gpus * case.nodes)):
        found = list(pool_layouts(case, pool, demand, gpus))
        chosen = best_layout(found)
        if chosen is not None and chosen.limit is not None:
            return chosen.pool, chosen.limit
        if pool.pipeline_parallel_size != AUTO:
            break
    field = next(name for name in _SIZES if getattr(pool, name) == AUTO)
    tried = "; ".join(f"{each.size}: {each.refused}" for each in found) or "no sizes"
    raise _NotFound(field, f"expected a way to spread {case.model.id} over {case.gpu.id}, got none ({tried})", _HINT)


_HINT = "use more or larger GPUs, lower precision, an FP8 KV cache, a shorter max_model_len or looser limits"


def _replicas(case: PoolCase) -> int:
    if case.demand is None:
        hint = f"name the pool in `workload`: who uses {case.pool.name}, and how much"
        raise _NotFound("replicas", "expected a workload to size it for, got none", hint)
    performance = case.server().performance(case.demand)  # anew: max_num_seqs may bind by now
    need = need_of(case, performance, performance.limit(case.demand), case.demand)
    if need.with_reserve is None:
        away = case.reserve.failed_nodes + case.reserve.maintenance_nodes
        raise _NotFound(
            "replicas",
            f"expected a pool on more than {away} nodes, as many as may be away at once, got {case.nodes}",
            "add nodes, or lower sizing.reserve",
        )
    if need.with_reserve > MAX_REPLICAS:
        raise _NotFound(
            "replicas",
            f"expected a workload for at most {MAX_REPLICAS:,} replicas, got one for {need.with_reserve:,}",
            "look for a slip in its users and rates, or divide them over several pools",
        )
    return need.with_reserve
