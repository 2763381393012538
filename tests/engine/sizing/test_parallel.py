"""How a model is spread: what cannot start says why, what wins is what submitters of MLPerf chose."""

from __future__ import annotations

from datetime import date

import pytest

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.pool.parallelism import Objective, ParallelLayout, best, parallel_layouts
from sovctl.engine.spec import Model, Pool, SiteSpec
from sovctl.engine.validation.rules.pools import check_shapes
from sovctl.engine.validation.rules.rule import SiteUnderValidation
from sovctl.support.errors import InputError

CHAT = Objective(input_tokens=2000, output_tokens=500)


def spread(
    model: str, gpu: str, precision: Precision, gpus: int = 8, objective: Objective = CHAT, link_domain: int = 8
) -> list[ParallelLayout]:
    return parallel_layouts(
        load_models()[model],
        load_gpus()[gpu],
        precision=precision,
        gpus=gpus,
        objective=objective,
        engine_version="0.32.0",
        link_domain=link_domain,
        kv_cache_dtype_bytes=1,
    )


def way(ways: list[ParallelLayout], tensor: int, pipeline: int = 1, data: int = 1) -> ParallelLayout:
    return next(
        each
        for each in ways
        if (each.tensor_parallel_size, each.pipeline_parallel_size, each.data_parallel_size) == (tensor, pipeline, data)
    )


def test_qwen3_235b_in_fp8_does_not_start_on_eight_and_says_what_would() -> None:
    ways = spread("qwen3-235b-a22b", "H100-80GB-SXM", Precision.FP8)
    assert "not whole FP8 blocks of 128; expert parallelism avoids this" in way(ways, 8).refused
    assert not way(ways, 4).refused
    assert not way(ways, 1, data=8).refused


def test_tensor_parallelism_stays_inside_fast_links() -> None:
    ways = spread("llama-3.1-405b", "H200-141GB-SXM", Precision.FP8, gpus=16)
    assert way(ways, 16).refused == "16 GPUs exceed the 8 GPUs connected by fast links"
    assert not way(ways, 8, 2).refused


def test_what_does_not_fit_says_so() -> None:
    ways = spread("llama-3.1-405b", "H100-80GB-SXM", Precision.BF16)
    assert {each.refused for each in ways} >= {"weights do not fit"}
    assert best(ways) is None
    slow = spread("llama-3.1-70b", "H100-80GB-SXM", Precision.FP8, objective=Objective(2000, 500, itl_s=0.001))
    assert "slower than 1 ms between tokens" in way(slow, 8).refused


# GPUs of one replica, as submitters of MLPerf v5.1 chose (configurations read 2026-11-20), with that task's lengths.
@pytest.mark.parametrize(
    ("model", "gpu", "precision", "lengths", "gpus"),
    [
        ("llama-3.1-405b", "H200-141GB-SXM", Precision.FP8, (9428, 654), 8),
        ("llama-3.1-405b", "B200-SXM", Precision.NVFP4, (9428, 654), 4),
        ("llama-3.1-8b", "B200-SXM", Precision.NVFP4, (870, 129), 1),
        ("llama-3.1-8b", "H200-141GB-SXM", Precision.FP8, (870, 129), 1),
        ("llama-3.1-70b", "H200-141GB-SXM", Precision.FP8, (222, 293), 1),
        ("llama-3.1-70b", "B200-SXM", Precision.NVFP4, (222, 293), 1),
        ("mixtral-8x7b", "H200-141GB-SXM", Precision.FP8, (330, 145), 1),
        ("deepseek-r1", "H200-141GB-SXM", Precision.FP8, (804, 3744), 8),
    ],
)
def test_the_choice_is_the_submitters(
    model: str, gpu: str, precision: Precision, lengths: tuple[int, int], gpus: int
) -> None:
    chosen = best(spread(model, gpu, precision, objective=Objective(*lengths)))
    assert chosen is not None
    assert chosen.gpus == gpus


NOT_OF_SHAPE = ("weights do not fit", "no room for one session")


SHAPES = sorted(name for name, each in load_models().items() if each.arch.layers and not each.lab_only)


@pytest.mark.parametrize("model", SHAPES)
def test_what_auto_does_not_try_is_what_validation_refuses(model: str) -> None:
    """The rules stand twice: with figures of our own here, with the user's, their places and remedies in `spec`."""
    known = load_models()[model]
    try:
        ways = spread(model, "H200-141GB-SXM", Precision.FP8, gpus=64, link_domain=64)
    except InputError:
        pytest.skip("how its cache is laid out is not in the catalogue")
    for each in ways:
        is_apart = each.data_parallel_size > 1
        if is_apart and each.pipeline_parallel_size > 1:
            continue  # never offered
        pool = Pool(
            name="pool", model="model", node_group="gpus", max_model_len=4096, quantization="fp8",
            tensor_parallel_size=each.tensor_parallel_size,
            data_parallel_size=each.data_parallel_size,
            pipeline_parallel_size=each.pipeline_parallel_size, enable_expert_parallel=is_apart,
        )  # fmt: skip
        named = Model(name="model", catalog=known.id, manifest_sha256="0" * 64)
        spec = SiteSpec.model_construct(pools=[pool], models=[named])
        problems = list(check_shapes(SiteUnderValidation(spec, load_catalog(), date(2026, 11, 22))))
        is_refused = bool(each.refused) and not each.refused.startswith(NOT_OF_SHAPE)
        assert is_refused == bool(problems), (pool.spread, each.refused, problems)
