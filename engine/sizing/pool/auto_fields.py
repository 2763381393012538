"""Resolves `auto` in site.yaml: parallel sizes, `replicas`, `max_model_len` and `max_num_seqs`. Pure and deterministic.

    spec, problems = resolve_auto_fields(spec, load_catalog())

Values are computed at the pessimistic edge. If no value meets the demand, a problem contains the arithmetic.
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
    """Return the site with a number for every `auto` that can be resolved, and a problem for every other."""
    if not any(_auto_fields(pool) for pool in spec.pools):
        return spec, []
    context = {model.name: known.max_context for model in spec.models if (known := catalog.models.get(model.catalog))}
    # A pool with an unknown model or platform has no case. Validation rules report it, and need a number in each field.
    pools, problems = [with_default_sizes(pool, context.get(pool.model)) for pool in spec.pools], []
    for case in pool_cases(spec, catalog):
        if not _auto_fields(case.pool):
            continue
        try:
            pools[case.index] = _resolved(case)
        except _NotFound as error:
            where = f"pools[{case.index}].{error.field}"
            problems.append(Problem(error.message, where=where, hint=error.hint))
        except InputError as error:
            where = f"pools[{case.index}].{_auto_fields(case.pool)[0]}"
            of = f" ({error.where})" if error.where else ""
            problems.append(Problem(error.message + of, where=where, hint=error.hint or "replace `auto` by numbers"))
    return spec.model_copy(update={"pools": pools}), problems


def _auto_fields(pool: Pool) -> list[str]:
    return [name for name in FIELDS if getattr(pool, name) == AUTO]


def with_default_sizes(pool: Pool, context: int | None) -> Pool:
    """Return the pool with valid numbers for `auto`, so that other rules do not report them.

    Args:
        context: maximum context of the model; None if unknown.
    """
    numbers = dict.fromkeys(_auto_fields(pool), 1)
    if "max_model_len" in numbers:
        numbers["max_model_len"] = context or 1 << 24
    return pool.model_copy(update=numbers)


def _resolved(case: PoolCase) -> Pool:
    if case.is_simulated:
        hint = "replace `auto` by numbers; sizing supports GPUs only"
        raise _NotFound(_auto_fields(case.pool)[0], "unsupported value `auto` with `vllm-cpu`", hint)
    # Without a workload, a server is sized for the defaults of chat; the number of replicas cannot be computed.
    demand = case.demand or PoolDemand.of([WorkloadClass(name="any", pool=case.pool.name, users=1)])
    assert demand is not None
    pool = case.pool.model_copy(update=_max_model_len(case, demand))
    pool, limit = _parallel_sizes(case, pool, demand)
    if pool.max_num_seqs == AUTO:
        pool = pool.model_copy(update={"max_num_seqs": _max_num_seqs(pool, limit)})
    if pool.replicas == AUTO:
        pool = pool.model_copy(update={"replicas": _replicas(replace(case, pool=pool))})
    return pool


def _max_num_seqs(pool: Pool, limit: Limit) -> int:
    """Return `max_num_seqs`, which vLLM counts per data parallel rank."""
    return max(1, min(MAX_SEQS, int(limit.point.in_flight / pool.data_parallel_size)))


def _max_model_len(case: PoolCase, demand: PoolDemand) -> Mapping[str, int]:
    """Return `max_model_len`: about 1 % of calls exceed it. A multiple of 1,024, at most the model's context."""
    if case.pool.max_model_len != AUTO:
        return {}
    wanted = ceil(demand.model_len_p99 / _LEN_STEP) * _LEN_STEP
    return {"max_model_len": min(wanted, case.model.max_context or wanted)}


def _parallel_sizes(case: PoolCase, pool: Pool, demand: PoolDemand) -> tuple[Pool, Limit]:
    """Return the pool with parallel sizes, and the limit of one replica."""
    if AUTO not in (getattr(pool, name) for name in _SIZES):
        limit = limit_of(case, pool, demand)
        if isinstance(limit, str):
            raise _NotFound(_auto_fields(case.pool)[0], f"this server cannot meet the demand: {limit}", _HINT)
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
    raise _NotFound(field, f"no parallel layout of {case.model.id} on {case.gpu.id} meets the demand ({tried})", _HINT)


_HINT = "use more or larger GPUs, lower precision, an FP8 KV cache, a shorter max_model_len or looser limits"


def _replicas(case: PoolCase) -> int:
    if case.demand is None:
        hint = f"add a class with `pool: {case.pool.name}` to `workload`, or set replicas to a number"
        raise _NotFound("replicas", "missing workload of the pool, which `replicas: auto` requires", hint)
    performance = case.server().performance(case.demand)  # computed again, because max_num_seqs may now be the limit
    need = need_of(case, performance, performance.limit(case.demand), case.demand)
    if need.with_reserve is None:
        away = case.reserve.failed_nodes + case.reserve.maintenance_nodes
        raise _NotFound(
            "replicas",
            f"expected more than {away} nodes (failed + maintenance nodes of sizing.reserve), got {case.nodes}",
            "add nodes, or lower sizing.reserve",
        )
    if need.with_reserve > MAX_REPLICAS:
        raise _NotFound(
            "replicas",
            f"expected a workload for at most {MAX_REPLICAS:,} replicas, got {need.with_reserve:,}",
            "check users and rates of the workload, or divide it into several pools",
        )
    return need.with_reserve
