"""Memory and estimated speed of a model that could serve a pool of a site, or run on a GPU of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from strategies import EXAMPLES

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.calibrations import Band, ServerCalibration
from sovctl.engine.sizing.performance.capacity import Provenance
from sovctl.engine.sizing.pool.candidate import (
    CandidateMemory,
    CandidateSpeed,
    candidate_case,
    case_on_gpu,
    memory_of,
    named_load,
    speed_of,
)
from sovctl.engine.sizing.pool.pool import PoolCase, pool_cases, size_pool
from sovctl.engine.validation.load import load

CATALOG = load_catalog()
MODELS = CATALOG.models
BANK = load(EXAMPLES / "bank-hybrid" / "site.yaml", is_draft=True)
CASES = {each.pool.name: each for each in pool_cases(BANK.spec, BANK.catalog)}
OWN = CASES["assistant"]


def speed(case: PoolCase | str, in_flight: float = 8, demand: object = None) -> CandidateSpeed:
    assert not isinstance(case, str)
    found = speed_of(case, case.demand if demand is None else demand, in_flight=in_flight)  # type: ignore[arg-type]
    assert isinstance(found, CandidateSpeed), found
    return found


def on_gpu(model: str, gpu: str) -> CandidateSpeed:
    demand = named_load(8, 1500, 300)
    return speed(
        case_on_gpu(MODELS[model], CATALOG.gpus[gpu], CATALOG.platforms, demand, engine_version="0.32.0"), demand=demand
    )


def test_memory_is_that_of_weights_and_cache() -> None:
    found = memory_of(MODELS["llama-3.3-70b"], request_tokens=1800)
    assert isinstance(found, CandidateMemory)
    # 80 layers x 8 heads x 128 x 2 (keys, values) x 2 bytes; config.json of the model
    assert found.kv_token_bytes == 80 * 8 * 128 * 2 * 2
    assert found.weights_bytes == pytest.approx(141.1e9, rel=0.01)
    assert 1800 <= found.kv_request_bytes / found.kv_token_bytes < 1816
    half = memory_of(MODELS["llama-3.3-70b"], request_tokens=1800, kv_cache_dtype="fp8")
    assert isinstance(half, CandidateMemory)
    assert half.kv_token_bytes == found.kv_token_bytes / 2


def test_the_model_of_a_pool_keeps_its_settings_and_has_the_figures_of_size() -> None:
    found, sized = speed(candidate_case(OWN, OWN.model)), size_pool(OWN)
    assert sized.limit is not None
    assert sized.need is not None
    assert (found.spread, found.gpus, found.limit) == (OWN.pool.spread, 4, sized.limit)
    assert found.need == sized.need
    assert found.gpus_needed == (sized.need.with_reserve or 0) * 4


def test_another_model_has_its_own_layout_under_the_same_load() -> None:
    small = candidate_case(OWN, MODELS["qwen3-8b"])
    assert small.demand == OWN.demand
    assert small.platform is OWN.platform
    found = speed(small)
    assert found.gpus < 4
    assert found.point is not None
    own = speed(OWN).point
    assert own is not None
    assert found.point.itl.middle < own.itl.middle
    assert found.provenance in (Provenance.MEASURED, Provenance.MODELLED)


def test_a_load_above_the_limit_has_no_point_and_a_named_load_needs_no_replicas() -> None:
    assert speed(OWN, in_flight=10_000).point is None
    assert speed(OWN, demand=named_load(8, 1000, 100)).need is None


def test_a_model_that_does_not_fit_has_the_reason() -> None:
    found = speed_of(candidate_case(CASES["triage"], MODELS["deepseek-r1"]), named_load(1, 100, 10), in_flight=1)
    assert isinstance(found, str)
    assert "does not serve this load on 2 x 4 L40S" in found
    assert "weights do not fit" in found


def test_a_gpu_of_the_catalogue_needs_no_site() -> None:
    assert on_gpu("qwen3-32b", "H200-141GB-SXM").gpus == 1
    assert on_gpu("llama-3.1-405b", "H200-141GB-SXM").gpus == 8
    assert not on_gpu("qwen3-embedding-0.6b", "H100-80GB-SXM").is_generative


def test_a_gpu_without_a_platform_has_no_case() -> None:
    found = case_on_gpu(MODELS["qwen3-8b"], CATALOG.gpus["L40S"], {}, named_load(1, 100, 10), engine_version="0.32.0")
    assert found == "no platform of the catalogue has L40S"


def test_measurements_of_the_site_change_the_estimate() -> None:
    bands = {name: Band(p10=0.9, p90=1.1, rows=3) for name in ("throughput", "itl", "ttft")}
    own = ServerCalibration(
        model=OWN.model.id,
        gpu=OWN.gpu.id,
        precision="bf16",
        tensor_parallel_size=4,
        pipeline_parallel_size=1,
        factor=1.5,
        bands=bands,  # type: ignore[arg-type]
        in_flight=(1.0, 64.0),
        points=3,
        source=("run.json",),
        date=date(2026, 11, 29),
    )
    demand = named_load(8, 1500, 300)
    before, after = speed(OWN, demand=demand), speed(replace(OWN, calibrations=(own,)), demand=demand)
    assert (before.calibration, after.calibration) == (None, own)
    assert after.provenance is Provenance.CALIBRATED
    assert before.point is not None
    assert after.point is not None
    assert after.point.itl.middle > 1.3 * before.point.itl.middle


def test_a_lab_on_cpus_and_a_model_without_a_shape_have_reasons() -> None:
    assert speed_of(replace(OWN, is_simulated=True), named_load(1, 100, 10), in_flight=1) == "the lab runs on CPUs"
    unknown = MODELS["qwen3-8b"].model_copy(update={"released_dtype": "nine bits"})
    assert "unknown released_dtype nine bits" in str(memory_of(unknown, request_tokens=10))
    assert "unknown released_dtype nine bits" in str(
        speed_of(candidate_case(OWN, unknown.model_copy(update={"id": "x"})), named_load(1, 100, 10), in_flight=1)
    )
