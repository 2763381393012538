"""Memory and estimated speed of a model that could serve a pool, to compare it with another model. Pure.

    memory_of(model, request_tokens=1800)                     # weights and KV cache, independent of GPUs
    case = case_on_gpu(model, catalog, "H200-141GB-SXM", ...)  # or `candidate_case(case of a site's pool, model)`
    speed_of(case, demand, in_flight=8).point.itl.middle

An unknown value is its reason as text. Parallel sizes are those of the pool for its own
model, and the preferred ones for another model, in its released precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sovctl.support.errors import InputError

from ...catalog.calibrations import ServerCalibration
from ...catalog.gpus import Gpu
from ...catalog.models import ModelEntry
from ...catalog.platforms import Platform
from ...spec import Pool
from ...spec.types import AUTO
from ...spec.workload import Reserve, WorkloadClass
from ..demand.pool_demand import PoolDemand
from ..memory.cache_layout import kv_cache
from ..memory.weights import Weights
from ..performance.capacity import Limit, Point, Provenance
from .layouts import MAX_SEQS, PoolLayout, best_layout, pool_layouts
from .pool import Need, PoolCase, need_of
from .server import Server, precision_of

_LEN_STEP = 1024  # of `max_model_len` for a load without a pool


@dataclass(frozen=True, slots=True)
class CandidateMemory:
    """Memory of one replica of a model on all its GPUs together, in bytes.

    Args:
        kv_token_bytes: of one more token of a long request.
        kv_request_bytes: of a request of `request_tokens` tokens.
    """

    precision: str
    weights_bytes: float
    kv_token_bytes: float
    kv_request_bytes: float
    request_tokens: int


@dataclass(frozen=True, slots=True)
class CandidateSpeed:
    """Estimated speed of one replica.

    Args:
        spread: parallel layout such as `TP 4`.
        gpus: of one replica.
        point: at the load of the comparison; None if it exceeds the limit.
        limit: largest load of a replica.
        calibration: measurements of the site on this server; None without them.
        need: replicas for the workload of the pool; None without one.
    """

    spread: str
    gpus: int
    point: Point | None
    limit: Limit
    is_generative: bool
    provenance: Provenance
    provenance_words: str
    calibration: ServerCalibration | None
    need: Need | None

    @property
    def gpus_needed(self) -> int | None:
        """GPUs for the workload, with reserve; None without a workload, or if the reserve exceeds the nodes."""
        if self.need is None or self.need.with_reserve is None:
            return None
        return self.need.with_reserve * self.gpus


def memory_of(
    model: ModelEntry, *, request_tokens: int, pool: Pool | None = None, kv_cache_dtype: str = "auto"
) -> CandidateMemory | str:
    """Return the memory of a model, or why it is unknown.

    Args:
        pool: that serves the model, for its quantization; None for the released precision.
    """
    try:
        weights = Weights.of(model, None if pool is None else precision_of(pool, model))
        cache, size = kv_cache(model), 1 if kv_cache_dtype.startswith("fp8") else 2
        token = cache.token_bytes(kv_cache_dtype_bytes=size)
        request = cache.sequence_bytes(request_tokens, kv_cache_dtype_bytes=size)
        return CandidateMemory(weights.precision.value, weights.total_bytes(), token, request, request_tokens)
    except InputError as error:
        return error.message


def named_load(in_flight: float, input_tokens: int, output_tokens: int) -> PoolDemand:
    """Return the demand of requests of these mean lengths, which vary as those of a chat, without latency limits."""
    users = max(1, round(in_flight))
    one = WorkloadClass(
        name="load",
        pool="load",
        users=users,
        in_flight_percent=100,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )
    found = PoolDemand.of([one])
    assert found is not None
    return found


def case_on_gpu(
    model: ModelEntry, gpu: Gpu, platforms: Mapping[str, Platform], demand: PoolDemand, *, engine_version: str
) -> PoolCase | str:
    """Return the case of a model on one node with a GPU of the catalogue, or the reason for its absence.

    The node is the platform with most GPUs of this type.
    """
    nodes = [each for each in platforms.values() if each.gpu == gpu.id and each.gpus]
    if not nodes:
        return f"no platform of the catalogue has {gpu.id}"
    longest = -(-round(demand.model_len_p99) // _LEN_STEP) * _LEN_STEP
    pool = Pool(
        name="load",
        model="load",
        node_group="load",
        max_model_len=min(longest, model.max_context or longest),
        max_num_seqs=MAX_SEQS,
    )
    return PoolCase(
        index=0,
        pool=_free(pool),
        model=model,
        platform=max(nodes, key=lambda each: each.gpus),
        gpu=gpu,
        nodes=1,
        workload=(),
        reserve=Reserve(),
        engine_version=engine_version,
        is_simulated=False,
    )


def candidate_case(case: PoolCase, model: ModelEntry) -> PoolCase:
    """Return the case of a pool as it is for its own model, or with another model and free parallel sizes."""
    if model.id == case.model.id:
        return case
    longest = min(case.pool.max_model_len, model.max_context or case.pool.max_model_len)
    other = {"quantization": None, "lora": None, "enable_expert_parallel": False, "max_model_len": longest}
    pool = _free(case.pool.model_copy(update=other))
    return replace(case, model=model, pool=pool, tokens_per_step=1.0)


def speed_of(case: PoolCase, demand: PoolDemand, *, in_flight: float) -> CandidateSpeed | str:
    """Return the estimated speed of a model, or the reason why it is unknown.

    Args:
        in_flight: requests in flight of one replica.
    """
    if case.is_simulated:
        return "the lab runs on CPUs"
    try:
        layout = _layout(case, demand)
        if isinstance(layout, str):
            return layout
        sized = replace(case, pool=layout.pool)
        assert layout.limit is not None
        return _speed(sized, sized.server(), layout.limit, demand, in_flight)
    except InputError as error:
        return error.message


def _layout(case: PoolCase, demand: PoolDemand) -> PoolLayout | str:
    found: list[PoolLayout] = []
    for gpus in dict.fromkeys((case.platform.gpus, case.platform.gpus * case.nodes)):
        found = list(pool_layouts(case, case.pool, demand, gpus))
        chosen = best_layout(found)
        if chosen is not None and chosen.limit is not None:
            return chosen
    reasons = "; ".join(f"{each.size}: {each.refused}" for each in found if each.refused) or "no parallel layout"
    return f"does not serve this load on {case.nodes} x {case.platform.gpus} {case.gpu.id}: {reasons}"


def _speed(case: PoolCase, server: Server, limit: Limit, demand: PoolDemand, in_flight: float) -> CandidateSpeed:
    performance = server.performance(demand)
    fits = in_flight <= limit.point.in_flight + 1e-9
    need = need_of(case, performance, limit, demand) if case.demand == demand else None
    return CandidateSpeed(
        spread=case.pool.spread,
        gpus=server.gpus,
        point=performance.at(in_flight, demand) if fits else None,
        limit=limit,
        is_generative=server.is_generative,
        provenance=server.provenance,
        provenance_words=server.provenance_words,
        calibration=server.site_calibration,
        need=need,
    )


def _free(pool: Pool) -> Pool:
    """Return the pool with parallel sizes that the layout decides."""
    sizes = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    return pool.model_copy(update={**dict.fromkeys(sizes, AUTO), "nodes_per_stage": 1})
