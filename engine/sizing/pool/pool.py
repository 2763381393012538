"""One pool of a site: what it runs on, what it needs, what it has, and how well that goes together. Pure.

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
from ...catalog.gpus import Gpu
from ...catalog.models import ModelEntry
from ...catalog.platforms import Platform
from ...spec import Pool, SiteSpec
from ...spec.workload import Reserve, WorkloadClass
from ..demand.pool_demand import PoolDemand
from ..demand.reserve import growth_factor, lost, replicas_with_reserve
from ..memory.weights import Weights
from ..performance.calibration import Evidence
from ..performance.capacity import Limit, Performance, Point, Provenance
from .server import Server


@dataclass(frozen=True)
class PoolCase:
    """A pool with everything about it that stands elsewhere."""

    index: int
    """In `pools`."""
    pool: Pool
    model: ModelEntry
    platform: Platform
    gpu: Gpu
    nodes: int
    """That the pool may use."""
    workload: tuple[tuple[int, WorkloadClass], ...]
    """Its classes, each with its place in `workload`."""
    reserve: Reserve
    engine_version: str
    is_simulated: bool
    """True for a CPU build of a lab: nothing of it says anything about GPUs."""
    calibrations: tuple[ServerCalibration, ...] = ()
    """What the site measured, of whatever servers."""
    tokens_per_step: float = 1.0
    """With speculative decoding, as the site states it."""
    read_gb_s: float | None = None
    """Of a node's model store, as the site measured it."""
    mig: str | None = None
    """Profile of the slices that stand for GPUs; None for whole ones."""

    @cached_property
    def demand(self) -> PoolDemand | None:
        """What is asked of it, growth included."""
        return PoolDemand.of([each for _, each in self.workload], growth=growth_factor(self.reserve))

    @property
    def replicas_per_node(self) -> int:
        """That fit on one node beside nothing else; 0 where one takes several nodes."""
        return self.platform.gpus // self.pool.gpus_per_replica

    def server(self) -> Server:
        """Its servers.

        Raises:
            InputError: the catalogue does not know enough of the model.
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
    """Every pool whose model, nodes and GPUs are known; rules say what is wrong with the others."""
    groups = _once((group.name, group) for group in spec.node_groups)
    models = _once((model.name, catalog.models.get(model.catalog)) for model in spec.models)
    for index, pool in enumerate(spec.pools):
        group, model = groups.get(pool.node_group), models.get(pool.model)
        platform, gpu = (catalog.machine(group.platform, group.mig) if group else None) or (None, None)
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
            is_simulated=spec.software.engine == "vllm-cpu",
            calibrations=catalog.calibrations,
            tokens_per_step=spec.sizing.tokens_per_step.get(pool.name, 1.0),
            read_gb_s=spec.sizing.storage.read_gb_s,
            mig=group.mig,
        )


_Item = TypeVar("_Item")


def _once(items: Iterable[tuple[str, _Item]]) -> dict[str, _Item]:
    """By name, without names that stand twice: nobody can say which is meant."""
    listed = list(items)
    count = Counter(name for name, _ in listed)
    return {name: item for name, item in listed if count[name] == 1}


@dataclass(frozen=True)
class Need:
    """Replicas that a demand needs, each filled to its limit."""

    in_flight: float
    """Of the whole pool, one moment in twenty."""
    replicas: int
    with_reserve: int | None
    """None when so many nodes may go that none is left."""


def need_of(case: PoolCase, performance: Performance, limit: Limit, demand: PoolDemand) -> Need:
    """How many replicas a pool needs when each carries its limit."""
    in_flight = performance.needed_in_flight(limit.point, demand)
    replicas = max(1, ceil(in_flight / limit.point.in_flight - 1e-9))
    wanted = replicas_with_reserve(replicas, case.reserve, nodes=case.nodes, replicas_per_node=case.replicas_per_node)
    return Need(in_flight, replicas, wanted)


@dataclass(frozen=True)
class PoolSizing:
    """What sizing says of one pool."""

    case: PoolCase
    verdict: Verdict
    reason: str
    server: Server | None = None
    performance: Performance | None = None
    limit: Limit | None = None
    need: Need | None = None
    point: Point | None = None
    """Where each replica comes to rest with all of them serving; None when they are too few."""

    @property
    def weights(self) -> Weights | None:
        """What each of its servers loads; None where not even that is known."""
        with suppress(InputError):
            return self.server.weights if self.server is not None else self.case.server().weights
        return None

    @property
    def provenance(self) -> Provenance:
        """Where its times come from."""
        if self.server is not None and self.server.own is not None:
            return Provenance.CALIBRATED
        is_measured = self.server is not None and self.server.evidence is Evidence.PAIR
        return Provenance.MEASURED if is_measured else Provenance.MODELLED

    @property
    def provenance_words(self) -> str:
        """Why, such as `this GPU was never measured`."""
        if self.server is None:
            return ""
        return "held to this site's measurements" if self.server.own is not None else self.server.evidence.description

    @property
    def gpus(self) -> int:
        """Of all replicas."""
        return self.case.pool.replicas * self.case.pool.gpus_per_replica

    @property
    def headroom(self) -> float | None:
        """How much more could be asked before a limit is passed: 0.25 is a quarter; negative when it is passed."""
        if self.limit is None or self.need is None:
            return None
        return self.case.pool.replicas * self.limit.point.in_flight / self.need.in_flight - 1


def size_pool(case: PoolCase) -> PoolSizing:
    """Look at one pool whose numbers are all there."""
    if case.is_simulated:
        return PoolSizing(case, Verdict.NOT_APPLICABLE, "a lab on CPUs says nothing about GPUs")
    try:
        server = case.server()
        server.sessions(1)
    except InputError as error:
        return PoolSizing(case, Verdict.UNKNOWN, f"not sized: {error.message}")
    fits = server.sessions(case.pool.max_model_len)
    if fits < 1:
        what = "weights do not fit" if not server.memory().fits else "not one session of max_model_len fits"
        return PoolSizing(case, Verdict.FAIL, f"{what} at the pessimistic edge", server)
    if case.demand is None:
        return PoolSizing(case, Verdict.NOT_APPLICABLE, "no workload names it: only its memory was looked at", server)
    try:
        performance = server.performance(case.demand)
    except InputError as error:
        return PoolSizing(case, Verdict.UNKNOWN, f"not sized: {error.message}", server)
    limit = performance.limit(case.demand)
    if not limit.is_held:
        reason = f"{limit.binding} is passed by a single request at the pessimistic edge"
        return PoolSizing(case, Verdict.FAIL, reason, server, performance, limit)
    need = need_of(case, performance, limit, case.demand)
    point = performance.converged(case.pool.replicas, case.demand, limit.point.in_flight)
    verdict, reason = _judged(case, need)
    return PoolSizing(case, verdict, reason, server, performance, limit, need, point)


def _judged(case: PoolCase, need: Need) -> tuple[Verdict, str]:
    """Enough replicas, enough without reserve, or too few."""
    has, away = case.pool.replicas, case.reserve.failed_nodes + case.reserve.maintenance_nodes
    if has < need.replicas:
        return Verdict.FAIL, f"needs {need.replicas} replicas, has {has}"
    if need.with_reserve is None:
        return Verdict.WARN, f"its {case.nodes} nodes cannot lose {away}"
    if has < need.with_reserve:
        left = has - lost(has, case.nodes, away, case.replicas_per_node) if away else has
        words = f"needs {need.replicas}" + (f", {left} left with nodes away: {away}" if away else "")
        return Verdict.WARN, f"without the reserve asked for: {need.with_reserve} replicas, has {has} ({words})"
    return Verdict.PASS, ""
