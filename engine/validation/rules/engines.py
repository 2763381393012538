"""Rules about the inference engine: a pool requests only capabilities that the engine has, as sovctl configures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sovctl.support.errors import Problem

from ...catalog.engines import ENGINES, EngineCapability
from ...placement import try_assign_gpus
from ...spec import Pool
from ...spec.scaling import IdleState
from ...spec.serving.section import ServeSection
from .rule import SiteUnderValidation

_ROLES = {
    "embedding": EngineCapability.EMBEDDINGS,
    "reranker": EngineCapability.RERANK,
    "asr": EngineCapability.TRANSCRIPTION,
}
"""Capability by role of a model."""


@dataclass(frozen=True)
class _Request:
    """A field of a pool that requests a capability."""

    capability: EngineCapability
    field: str
    is_in: Callable[[Pool], bool]


def _more_than_one(capability: EngineCapability, field: str) -> _Request:
    return _Request(capability, field, lambda pool: getattr(pool, field) > 1)


def _is_given(capability: EngineCapability, field: str) -> _Request:
    """Request by a field that site.yaml contains, because the default of the field has no effect on other engines."""
    return _Request(capability, field, lambda pool: field in pool.model_fields_set)


def _is_true(capability: EngineCapability, field: str) -> _Request:
    return _Request(capability, field, lambda pool: bool(getattr(pool, field)))


_REQUESTS = (
    _more_than_one(EngineCapability.TENSOR_PARALLEL, "tensor_parallel_size"),
    _more_than_one(EngineCapability.PIPELINE_PARALLEL, "pipeline_parallel_size"),
    _more_than_one(EngineCapability.DATA_PARALLEL, "data_parallel_size"),
    _is_true(EngineCapability.EXPERT_PARALLEL, "enable_expert_parallel"),
    _is_true(EngineCapability.LORA, "lora"),
    _is_true(EngineCapability.PREFILL_DECODE, "prefill"),
    _is_true(EngineCapability.SLEEP, "swap_group"),
    _is_true(EngineCapability.EAGER, "enforce_eager"),
    _is_true(EngineCapability.QUANTIZATION, "quantization"),
    _is_given(EngineCapability.QUEUE_CAP, "max_num_queued_reqs"),
    _is_given(EngineCapability.KV_CACHE_SIZE, "kv_cache_memory_bytes"),
    _is_given(EngineCapability.KV_CACHE_SIZE, "gpu_memory_utilization"),
    _Request(EngineCapability.KV_CACHE_DTYPE, "kv_cache_dtype", lambda pool: pool.kv_cache_dtype != "auto"),
    _Request(EngineCapability.DTYPE, "dtype", lambda pool: pool.dtype != "auto"),
)


def check_capabilities(site: SiteUnderValidation) -> Iterator[Problem]:
    """Refuse fields that request a capability which the engine lacks."""
    known = ENGINES[site.spec.software.engine].capabilities
    for where, capability in _requested(site):
        if capability not in known:
            having = [each.name for each in ENGINES.values() if capability in each.capabilities and not each.not_run]
            yield Problem(
                f"expected no request of `{capability}`, which {site.spec.software.engine} lacks",
                where=where,
                hint=f"remove it, or set software.engine to {' or '.join(having)}",
            )


def _requested(site: SiteUnderValidation) -> Iterator[tuple[str, EngineCapability]]:
    """Yield path and capability of everything in site.yaml that requests one."""
    for index, pool in enumerate(site.spec.pools):
        where = f"pools[{index}]"
        yield from ((f"{where}.{each.field}", each.capability) for each in _REQUESTS if each.is_in(pool))
        for name, section in pool:
            if isinstance(section, ServeSection) and section.model_fields_set and name != "lora":
                yield f"{where}.{name}", EngineCapability.SERVE_FLAGS
        model = site.model_of(pool)
        if model is not None and model.role in _ROLES:
            yield f"{where}.model", _ROLES[model.role]
    groups = {each.pool for each in try_assign_gpus(site.spec, site.catalog)[0] if len(each.ranks) > 1}
    for index, pool in enumerate(site.spec.pools):
        if pool.name in groups:
            field = "nodes_per_stage" if pool.nodes_per_stage > 1 else "pipeline_parallel_size"
            yield f"pools[{index}].{field}", EngineCapability.MULTI_NODE
    for index, scaled in enumerate(site.spec.scaling.pools if site.spec.scaling else ()):
        if scaled.idle is IdleState.ASLEEP:
            yield f"scaling.pools[{index}].idle", EngineCapability.SLEEP
    for index, _ in enumerate(site.spec.monitoring.pools if site.spec.monitoring else ()):
        yield f"monitoring.pools[{index}]", EngineCapability.LATENCY_METRICS
