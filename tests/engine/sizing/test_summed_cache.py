"""Caches that are a sum of parts: DeepSeek-V4's is what the vLLM team says it is, Whisper's what its shape says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing import GIB
from sovctl.engine.sizing.memory.cache_layout import kv_cache
from sovctl.engine.sizing.memory.weights import Precision, Weights
from sovctl.engine.sizing.performance.replica_model import ReplicaModel
from sovctl.support.errors import InputError

SUMMED = ("deepseek-v4-pro", "deepseek-v4-flash", "whisper-large-v3")


def test_a_million_tokens_of_deepseek_v4_take_what_vllm_says() -> None:
    """The vLLM team, "DeepSeek V4 in vLLM: Efficient Long-context Attention", 2026-04-24: 9.62 GiB in bf16."""
    cache = kv_cache(load_models()["deepseek-v4-pro"])
    assert cache.sequence_bytes(1 << 20) / GIB == pytest.approx(9.62, abs=0.006)
    assert cache.sequence_bytes(1 << 20, tensor_parallel_size=8) == cache.sequence_bytes(1 << 20)  # whole on every GPU


def test_what_whisper_heard_is_kept_beside_what_it_said() -> None:
    cache = kv_cache(load_models()["whisper-large-v3"])
    position = 32 * 2 * 1280 * 2  # layers of the decoder, keys and values, width, bf16
    assert cache.sequence_bytes(448) == (1500 + 448) * position
    assert cache.sequence_bytes(448, tensor_parallel_size=2) == (1500 + 448) * position / 2


@pytest.mark.parametrize("name", SUMMED)
@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20), st.floats(1e9, 1e12))
def test_longer_sessions_take_no_less_and_what_fits_fits(name: str, one: int, other: int, room: float) -> None:
    cache, (short, long) = kv_cache(load_models()[name]), sorted((one, other))
    assert cache.sequence_bytes(short) <= cache.sequence_bytes(long)
    assert cache.sequence_bytes(long, kv_cache_dtype_bytes=1) < cache.sequence_bytes(long)
    assert cache.max_concurrency(room, long) * cache.sequence_bytes(long) <= room * (1 + 1e-9)


@pytest.mark.parametrize("name", SUMMED)
def test_times_of_such_layers_are_not_made_up(name: str) -> None:
    with pytest.raises(InputError, match="no published step times"):
        ReplicaModel.of(load_models()[name], load_gpus()["H200-141GB-SXM"], precision=Precision.FP8)


def test_a_shape_without_what_a_sum_needs_is_not_known() -> None:
    for name, missing in (("deepseek-v4-pro", "window"), ("whisper-large-v3", "audio_positions")):
        model = load_models()[name]
        shapeless = model.model_copy(update={"arch": model.arch.model_copy(update={missing: None})})
        with pytest.raises(InputError):
            kv_cache(shapeless)


def test_experts_in_four_bits_and_the_rest_in_sixteen() -> None:
    """The catalogue's note on Kimi-K2.5: a checkpoint of 595 GB."""
    assert Weights.of(load_models()["kimi-k2.5"]).total_bytes() / 1e9 == pytest.approx(595, abs=3)


def test_experts_in_four_bits_and_the_rest_in_eight() -> None:
    """The catalogue's note on V4-Pro: its experts alone are about 822 GB at 4.25 bits."""
    weights = Weights.of(load_models()["deepseek-v4-pro"])
    assert weights.precision is Precision.MXFP4_FP8
    assert weights.expert_bytes() / 1e9 == pytest.approx(822, abs=1)
    rest = weights.total_parameters - weights.expert_parameters
    assert rest < weights.total_bytes() - weights.expert_bytes() < 2 * rest
