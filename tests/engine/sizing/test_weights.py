"""Weights as loaded, held to published logs and to the makers' own parameter counts."""

from __future__ import annotations

import pytest

from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing import GIB
from sovctl.engine.sizing.memory.weights import Precision, Weights

# vLLM 0.22 on H200, published logs, read 2026-11-20: GiB on each GPU by tensor_parallel_size.
GPT_OSS_120B_GIB = {1: 66.14, 2: 34.38, 4: 17.22, 8: 8.66}


@pytest.mark.parametrize(("tensor_parallel_size", "gib"), GPT_OSS_120B_GIB.items())
def test_gpt_oss_loads_as_vllm_says(tensor_parallel_size: int, gib: float) -> None:
    weights = Weights.of(load_models()["gpt-oss-120b"])
    assert weights.precision is Precision.MXFP4
    assert weights.rank_bytes(tensor_parallel_size=tensor_parallel_size) / GIB == pytest.approx(gib, rel=0.015)


# What the arithmetic says in gigabytes (reference arithmetic over the published shapes, 2026-11-20).
@pytest.mark.parametrize(
    ("model", "precision", "gigabytes"),
    [
        ("llama-3.1-8b", Precision.BF16, 16.06),
        ("llama-3.1-405b", Precision.BF16, 811.7),
        ("llama-3.1-70b", Precision.FP8, 72.7),
        ("llama-3.1-70b", Precision.NVFP4, 42.7),
        ("llama-3.1-70b", Precision.INT4, 39.7),
    ],
)
def test_scales_and_embeddings_count(model: str, precision: Precision, gigabytes: float) -> None:
    assert Weights.of(load_models()[model], precision).total_bytes() / 1e9 == pytest.approx(gigabytes, rel=0.01)


@pytest.mark.parametrize("name", [name for name, model in load_models().items() if model.params.computed_total])
def test_parameter_counts_follow_from_the_shape(name: str) -> None:
    model = load_models()[name]
    if name == "gemma-3-12b":
        pytest.skip("the published figure counts a vision tower that the shape does not have")
    assert model.params.computed_total == pytest.approx(model.params.published_total_b * 1e9, rel=0.03)


def test_a_pipeline_is_as_full_as_its_fullest_stage() -> None:
    weights = Weights.of(load_models()["llama-3.1-405b"], Precision.FP8)  # 126 layers
    assert weights.rank_bytes(pipeline_parallel_size=4) == pytest.approx(weights.total_bytes() * 32 / 126)


@pytest.mark.parametrize("model", sorted(name for name, each in load_models().items() if each.arch.moe))
def test_experts_are_most_of_a_mixture_and_never_more_than_it(model: str) -> None:
    weights = Weights.of(load_models()[model])
    assert 0.85 < weights.expert_parameters / weights.total_parameters < 1
