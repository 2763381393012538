"""How a model is spread: what cannot start says why, what wins is what submitters of MLPerf chose."""

from __future__ import annotations

import pytest

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.parallel import Objective, Way, best, ways_of
from sovctl.engine.sizing.replica import ExpertMode
from sovctl.engine.sizing.weights import Precision

CHAT = Objective(prompt=2000, answer=500)


def spread(
    model: str, gpu: str, precision: Precision, gpus: int = 8, objective: Objective = CHAT, link_domain: int = 8
) -> list[Way]:
    return ways_of(
        load_models()[model],
        load_gpus()[gpu],
        precision=precision,
        gpus=gpus,
        objective=objective,
        vllm="0.32.0",
        link_domain=link_domain,
        kv_element_bytes=1,
    )


def way(ways: list[Way], tensor: int, pipeline: int = 1, mode: ExpertMode = ExpertMode.TENSOR) -> Way:
    return next(
        each
        for each in ways
        if (each.tensor_parallel_size, each.pipeline_parallel_size, each.expert_mode) == (tensor, pipeline, mode)
    )


def test_qwen3_235b_in_fp8_does_not_start_on_eight_and_says_what_would() -> None:
    ways = spread("qwen3-235b-a22b", "H100-80GB-SXM", Precision.FP8)
    assert "no whole FP8 blocks of 128; expert parallelism would do" in way(ways, 8).refused
    assert not way(ways, 4).refused
    assert not way(ways, 8, mode=ExpertMode.EXPERT).refused


def test_tensor_parallelism_stays_inside_fast_links() -> None:
    ways = spread("llama-3.1-405b", "H200-141GB-SXM", Precision.FP8, gpus=16)
    assert way(ways, 16).refused == "16 GPUs are more than the 8 that fast links join"
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
