"""Sizing of one pool: hardware, replicas needed for the demand, replicas in site.yaml, and the verdict. Pure.

for case in pool_cases(spec, load_catalog()):
    sized = size_pool(case)
    sized.verdict, sized.reason, sized.limit.point.ttft.high
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TypeVar

from sovctl.compliance.verdict import Verdict
from sovctl.support.errors import InputError

from ...catalog import Catalog
from ...catalog.calibrations import ServerCalibration
from ...catalog.engines import ENGINES
from ...catalog.gpus import Gpu
from ...catalog.mig_layout import profile_of
from ...catalog.models import ModelEntry
from ...catalog.platforms import Platform
from ...spec import Pool, SiteSpec
from ...spec.workload import Reserve, WorkloadClass
from ..demand.pool_demand import PoolDemand
from ..demand.reserve import growth_factor, lost, replicas_with_reserve
from ..memory.weights import Weights
from ..performance.capacity import Limit, Performance, Point, Provenance
from .server import Server


@dataclass(frozen=True)
class PoolCase:
    """A pool with the model, hardware, workload and settings that sizing needs."""

    index: int
    """Position in `pools`."""
    pool: Pool
    model: ModelEntry
    platform: Platform
    gpu: Gpu
    nodes: int
    """Nodes that the pool may use."""
    workload: tuple[tuple[int, WorkloadClass], ...]
    """Classes of the pool, each with its index in `workload`."""
    reserve: Reserve
    engine_version: str
    is_simulated: bool
    """Whether the site is a lab with the CPU build of vLLM, for which GPUs are not sized."""
    calibrations: tuple[ServerCalibration, ...] = ()
    """All calibrations of the site."""
    tokens_per_step: float = 1.0
    """Tokens per sequence and step with speculative decoding, from site.yaml."""
    read_gb_s: float | None = None
    """Read speed of a node's model store in GB/s, from site.yaml."""
    mig: str | None = None
    """MIG profile of the slices; None for whole GPUs."""

    @cached_property
    def demand(self) -> PoolDemand | None:
        """Demand of the pool including growth; None without a workload."""
        return PoolDemand.of([each for _, each in self.workload], growth=growth_factor(self.reserve))

    @property
    def replicas_per_node(self) -> int:
        """Replicas that fit on an empty node; 0 if one replica uses several nodes."""
        return self.platform.gpus // self.pool.gpus_per_replica

    def server(self) -> Server:
        """Return the server of one replica.

        Raises:
            InputError: the catalogue lacks a figure of the model.
        """
        return Server.of(
            self.model,
            self.gpu,
            self.pool,
            engine_version=self.engine_version,
            calibrations=self.calibrations,
            tokens_per_step=self.tokens_per_step,
        )


def pool_cases(spec: SiteSpec, catalog: Catalog) -> Iterator[PoolCase]:
    """Yield every pool whose model, nodes and GPUs are known; validation rules report the others."""
    groups = _unique((group.name, group) for group in spec.node_groups)
    models = _unique((model.name, catalog.models.get(model.catalog)) for model in spec.models)
    for index, pool in enumerate(spec.pools):
        group, model = groups.get(pool.node_group), models.get(pool.model)
        platform, gpu = (catalog.machine(group, pool) if group else None) or (None, None)
        if group is None or platform is None or gpu is None or model is None:
            continue
        yield PoolCase(
            index=index,
            pool=pool,
            model=model,
            platform=platform,
            gpu=gpu,
            nodes=len(pool.nodes or group.nodes),
            workload=tuple((i, each) for i, each in enumerate(spec.workload) if each.pool == pool.name),
            reserve=spec.sizing.reserve,
            engine_version=spec.software.engine_version,
            is_simulated=bool(ENGINES[spec.software.engine].lab_only),
            calibrations=catalog.calibrations,
            tokens_per_step=spec.sizing.tokens_per_step.get(pool.name, 1.0),
            read_gb_s=spec.sizing.storage.read_gb_s,
            mig=profile_of(catalog.devices(group) or (), pool),
        )


_Item = TypeVar("_Item")


def _unique(items: Iterable[tuple[str, _Item]]) -> dict[str, _Item]:
    """Return the items by name, without duplicate names, which are ambiguous."""
    listed = list(items)
    count = Counter(name for name, _ in listed)
    return {name: item for name, item in listed if count[name] == 1}


@dataclass(frozen=True)
class Need:
    """Replicas needed for a demand, each loaded to its limit."""

    in_flight: float
    """95th percentile of the requests in flight in the pool."""
    replicas: int
    with_reserve: int | None
    """None if the reserve exceeds the nodes of the pool."""


def need_of(case: PoolCase, performance: Performance, limit: Limit, demand: PoolDemand) -> Need:
    """Return the replicas that a pool needs, if each is loaded to its limit."""
    in_flight = performance.needed_in_flight(limit.point, demand)
    replicas = max(1, ceil(in_flight / limit.point.in_flight - 1e-9))
    wanted = replicas_with_reserve(replicas, case.reserve, nodes=case.nodes, replicas_per_node=case.replicas_per_node)
    return Need(in_flight, replicas, wanted)


@dataclass(frozen=True)
class PoolSizing:
    """Sizing result of one pool."""

    case: PoolCase
    verdict: Verdict
    reason: str
    server: Server | None = None
    performance: Performance | None = None
    limit: Limit | None = None
    need: Need | None = None
    point: Point | None = None
    """Operating point of each replica with all replicas of site.yaml; None if they are too few."""

    @property
    def weights(self) -> Weights | None:
        """Weights of one server; None if the precision is unknown."""
        with suppress(InputError):
            return self.server.weights if self.server is not None else self.case.server().weights
        return None

    @property
    def provenance(self) -> Provenance:
        """Source of the times."""
        return Provenance.MODELLED if self.server is None else self.server.provenance

    @property
    def provenance_words(self) -> str:
        """Reason for the provenance, such as `this GPU was measured, this model was not`."""
        return "" if self.server is None else self.server.provenance_words

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.case.pool.replicas * self.case.pool.gpus_per_replica

    @property
    def headroom(self) -> float | None:
        """Capacity / need - 1: 0.25 is 25 % spare capacity; negative if the capacity is too small."""
        if self.limit is None or self.need is None:
            return None
        return self.case.pool.replicas * self.limit.point.in_flight / self.need.in_flight - 1


def size_pool(case: PoolCase) -> PoolSizing:
    """Size one pool without `auto` fields."""
    if case.is_simulated:
        return PoolSizing(case, Verdict.NOT_APPLICABLE, "not sized: the lab runs on CPUs")
    try:
        server = case.server()
        server.max_concurrency(1)
    except InputError as error:
        return PoolSizing(case, Verdict.UNKNOWN, f"not sized: {error.message}")
    fits = server.max_concurrency(case.pool.max_model_len)
    if fits < 1:
        what = "weights do not fit" if not server.memory().fits else "not one session of max_model_len fits"
        return PoolSizing(case, Verdict.FAIL, f"{what} at the pessimistic edge", server)
    if case.demand is None:
        return PoolSizing(
            case, Verdict.NOT_APPLICABLE, "no workload refers to this pool: only its memory was sized", server
        )
    try:
        performance = server.performance(case.demand)
    except InputError as error:
        return PoolSizing(case, Verdict.UNKNOWN, f"not sized: {error.message}", server)
    limit = performance.limit(case.demand)
    if not limit.is_held:
        reason = f"a single request exceeds {limit.binding} at the pessimistic edge"
        return PoolSizing(case, Verdict.FAIL, reason, server, performance, limit)
    need = need_of(case, performance, limit, case.demand)
    point = performance.converged(case.pool.replicas, case.demand, limit.point.in_flight)
    verdict, reason = _judged(case, need)
    return PoolSizing(case, verdict, reason, server, performance, limit, need, point)


def _judged(case: PoolCase, need: Need) -> tuple[Verdict, str]:
    """Return PASS with reserve, WARN without reserve, FAIL if the replicas are too few; with the reason."""
    has, away = case.pool.replicas, case.reserve.failed_nodes + case.reserve.maintenance_nodes
    if has < need.replicas:
        return Verdict.FAIL, f"needs {need.replicas} replicas, has {has}"
    if need.with_reserve is None:
        return Verdict.WARN, f"{away} of {case.nodes} nodes may be away (sizing.reserve): no nodes are left"
    if has < need.with_reserve:
        left = has - lost(has, case.nodes, away, case.replicas_per_node) if away else has
        words = f"needs {need.replicas} without reserve" + (f", {left} left with {away} nodes away" if away else "")
        return Verdict.WARN, f"too few replicas for the reserve: needs {need.with_reserve}, has {has} ({words})"
    return Verdict.PASS, ""
