"""Start times by class of model, held to whole starts that were measured on an H100 (2026-11-23)."""

from __future__ import annotations

import pytest

from sovctl.engine.catalog.models import load_models
from sovctl.engine.catalog.overheads import load_overheads
from sovctl.engine.catalog.start_times import load_start_times
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.pool.autoscaler import load_s
from sovctl.engine.sizing.pool.start import engine_start, start_class

MEASURED_S = (102, 122, 142)  # Llama 3.1 8B in bf16, no compile cache, weights read in 2 s
EAGER_S = 69


def test_phases_add_up_to_the_starts_that_were_measured() -> None:
    start = engine_start(load_models()["llama-3.1-8b"], Precision.BF16)
    assert start.low_s < min(MEASURED_S)
    assert max(MEASURED_S) < start.high_s < 1.05 * max(MEASURED_S)
    eager = engine_start(load_models()["llama-3.1-8b"], Precision.BF16, is_eager=True)
    assert eager.low_s <= EAGER_S <= eager.high_s < start.high_s


@pytest.mark.parametrize(
    ("model", "precision", "expected"),
    [
        ("llama-3.3-70b", Precision.BF16, "dense"),
        ("qwen3-30b-a3b", Precision.BF16, "experts"),
        ("gpt-oss-20b", Precision.MXFP4, "mxfp4"),
        ("qwen3-32b", Precision.FP8, "fp8"),
        ("deepseek-r1", Precision.NVFP4, "experts"),
    ],
)
def test_precision_and_experts_give_the_class(model: str, precision: Precision, expected: str) -> None:
    assert start_class(load_models()[model], precision) == expected


def test_a_first_start_in_block_fp8_exceeds_200_s() -> None:
    assert engine_start(load_models()["qwen3-32b"], Precision.FP8).low_s > 200


def test_more_layers_take_longer_and_fewer_not_less_than_measured() -> None:
    dense = load_start_times()
    assert dense.start_s("dense", 126).high_s > dense.start_s("dense", 32).high_s == dense.start_s("dense", 8).high_s


def test_a_lead_time_is_the_start_plus_the_weights() -> None:
    assert load_s(160e9, 2.0, engine_s=143.0) == pytest.approx(80 + 143)
    assert load_s(160e9, 2.0) == pytest.approx(80 + load_start_times().slowest_s)
    assert load_s(160e9, None, engine_s=143.0) == max(each.high_s for each in load_overheads().cold_start)
