"""Two models side by side: quality, speed, memory and licence (`sovctl models compare`).

    found = compare("qwen-32b", "llama-3.3-70b", catalog=catalog, spec=spec, evaluations=evaluations)
    found.models[0].speed, found.conclusion

Pure: evaluations are arguments. A value that is unknown is its reason as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sovctl.support.errors import InputError
from sovctl.support.suggestions import nearest_few

from ..catalog import Catalog
from ..catalog.models import Licence, ModelEntry
from ..sizing.demand.pool_demand import PoolDemand
from ..sizing.pool.candidate import (
    CandidateMemory,
    CandidateSpeed,
    candidate_case,
    case_on_gpu,
    memory_of,
    named_load,
    speed_of,
)
from ..sizing.pool.pool import PoolCase, pool_cases
from ..spec import Model, SiteSpec
from .marks import Evaluation
from .quality import comparable, conclusion

ENGINE_VERSION = "0.32.0"
"""Release of vLLM without a site; the default of `software.engine_version`."""
INPUT_TOKENS, OUTPUT_TOKENS = 1500, 300
"""Mean lengths without a workload: those of a chat (`engine/sizing/demand/classes.py`)."""


@dataclass(frozen=True)
class Request:
    """Load and GPU of a comparison.

    Args:
        pool: whose GPUs, settings and workload apply; empty for the first pool of one of the models, or the first one.
        gpu: id of a GPU of the catalogue, instead of those of a pool.
        input_tokens: mean of a prompt; None for that of the pool's workload.
        output_tokens: mean of an answer; None for that of the pool's workload.
        in_flight: requests of one replica.
    """

    pool: str = ""
    gpu: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    in_flight: float = 8


@dataclass(frozen=True)
class ModelSheet:
    """One model of a comparison.

    Args:
        names: of `models` in site.yaml; empty without a site, or for a model of the catalogue only.
        is_approved: whether site.yaml names an approver of the licence; None for a model that is not in site.yaml.
    """

    entry: ModelEntry
    names: tuple[str, ...]
    quality: Evaluation | None
    speed: CandidateSpeed | str
    memory: CandidateMemory | str
    is_approved: bool | None

    @property
    def licence(self) -> Licence:
        """Licence of the catalogue."""
        return self.entry.licence


@dataclass(frozen=True)
class Comparison:
    """Two models.

    Args:
        hardware: pool or GPU in words; empty without one.
        load: in words.
        conclusion: of the quality.
    """

    models: tuple[ModelSheet, ModelSheet]
    hardware: str
    load: str
    conclusion: str


def compare(
    first: str,
    second: str,
    *,
    catalog: Catalog,
    spec: SiteSpec | None = None,
    evaluations: Sequence[Evaluation] = (),
    request: Request | None = None,
) -> Comparison:
    """Return two models side by side.

    Args:
        first: name in `models` of site.yaml, or id in the catalogue.
        second: as `first`.
        spec: of the site; None without one.
        evaluations: of all pools of the site, the oldest first.

    Raises:
        InputError: a model, the pool or the GPU is unknown.
    """
    asked = request or Request()
    found = [_resolved(name, catalog, spec) for name in (first, second)]
    marks = [_marks(names, spec, evaluations) for _, names in found]
    quality = comparable(*marks)
    case = _case(asked, [entry for entry, _ in found], catalog, spec)
    demand = _demand(asked, case)
    sheets = [
        ModelSheet(
            entry,
            tuple(each.name for each in names),
            mark,
            *_figures(entry, asked, case, demand, catalog, spec),
            is_approved=all(each.licence_approved_by for each in names) if names else None,
        )
        for (entry, names), mark in zip(found, quality, strict=True)
    ]
    return Comparison((sheets[0], sheets[1]), _hardware(asked, case), _load(asked, case, demand), conclusion(*quality))


def _resolved(name: str, catalog: Catalog, spec: SiteSpec | None) -> tuple[ModelEntry, tuple[Model, ...]]:
    """Return the entry of a model, and the models of site.yaml that it names."""
    listed = spec.models if spec is not None else []
    named = tuple(each for each in listed if each.name == name) or tuple(
        each for each in listed if each.catalog == name
    )
    entry = catalog.models.get(named[0].catalog if named else name)
    if entry is None:
        near = nearest_few(name, [*dict.fromkeys([*(each.name for each in listed), *catalog.models])])
        hint = f"did you mean {' or '.join(near)}?" if near else "list the models: sovctl catalog list models"
        raise InputError(f"no model {name!r} in the catalogue or site.yaml", hint=hint)
    return entry, named


def _marks(names: Sequence[Model], spec: SiteSpec | None, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    digests = {each.manifest_sha256 for each in names} if spec is not None else set()
    return [each for each in evaluations if each.model_sha256 in digests]


def _case(asked: Request, entries: Sequence[ModelEntry], catalog: Catalog, spec: SiteSpec | None) -> PoolCase | None:
    """Return the pool whose GPUs apply; None with `gpu`, without a site, or without a pool on GPUs."""
    if asked.gpu and asked.gpu not in catalog.gpus:
        longer = [each for each in catalog.gpus if each.lower().startswith(asked.gpu.lower())]
        near = longer[:3] or nearest_few(asked.gpu, list(catalog.gpus))
        hint = f"did you mean {' or '.join(near)}?" if near else "list the GPUs: sovctl catalog list gpus"
        raise InputError(f"no GPU {asked.gpu!r} in the catalogue", where="--gpu", hint=hint)
    cases = [] if spec is None else list(pool_cases(spec, catalog))
    by_name = {each.pool.name: each for each in cases}
    if asked.pool:
        if asked.pool not in by_name:
            names = ", ".join(by_name) or "(none)"
            raise InputError(f"expected one of the pools {names}, got {asked.pool!r}", where="--pool")
        return by_name[asked.pool]
    if asked.gpu:
        return None
    ids = [each.id for each in entries]
    own = [each for name in ids for each in cases if each.model.id == name]
    return next(iter([*own, *cases]), None)


def _demand(asked: Request, case: PoolCase | None) -> PoolDemand:
    has_lengths = asked.input_tokens is not None or asked.output_tokens is not None
    if case is not None and case.demand is not None and not has_lengths:
        return case.demand
    return named_load(asked.in_flight, asked.input_tokens or INPUT_TOKENS, asked.output_tokens or OUTPUT_TOKENS)


def _figures(
    entry: ModelEntry,
    asked: Request,
    case: PoolCase | None,
    demand: PoolDemand,
    catalog: Catalog,
    spec: SiteSpec | None,
) -> tuple[CandidateSpeed | str, CandidateMemory | str]:
    tokens = round(demand.input_tokens + demand.output_tokens)
    own = case.pool if case is not None and case.model.id == entry.id else None
    dtype = case.pool.kv_cache_dtype if case is not None else "auto"
    memory = memory_of(entry, request_tokens=tokens, pool=own, kv_cache_dtype=dtype)
    if case is not None and not asked.gpu:
        if case.model.role != entry.role:
            return f"pool {case.pool.name} serves a {case.model.role} model", memory
        chosen: PoolCase | str = candidate_case(case, entry)
    elif asked.gpu:
        version = spec.software.engine_version if spec is not None else ENGINE_VERSION
        chosen = case_on_gpu(entry, catalog.gpus[asked.gpu], catalog.platforms, demand, engine_version=version)
    else:
        return "no GPU is named: give a site.yaml or --gpu", memory
    return (chosen if isinstance(chosen, str) else speed_of(chosen, demand, in_flight=asked.in_flight)), memory


def _hardware(asked: Request, case: PoolCase | None) -> str:
    if asked.gpu:
        return f"GPU {asked.gpu}"
    if case is None:
        return ""
    return f"pool {case.pool.name}, {case.nodes} x {case.platform.id} ({case.platform.gpus} {case.gpu.id} each)"


def _load(asked: Request, case: PoolCase | None, demand: PoolDemand) -> str:
    named = case is None or case.demand is not demand
    source = "named" if named else f"workload of pool {case.pool.name}" if case is not None else ""
    return (
        f"{demand.input_tokens:,.0f} input and {demand.output_tokens:,.0f} output tokens ({source}), "
        f"{asked.in_flight:g} requests in flight"
    )
