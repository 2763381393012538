"""What is left for the KV cache, held to what vLLM logged, and the source documents' worked example."""

from __future__ import annotations

import pytest

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing import GIB
from sovctl.engine.sizing.memory.cache_layout import kv_cache
from sovctl.engine.sizing.memory.gpu_memory import Edge, RankMemory, rank_memory, usable_bytes
from sovctl.engine.sizing.memory.lora_adapters import adapter_bytes
from sovctl.engine.sizing.memory.weights import Precision, Weights

H200 = load_gpus()["H200-141GB-SXM"]
H100 = load_gpus()["H100-80GB-SXM"]


def memory_of(
    model: str, precision: Precision | None = None, gpu: str = "H200-141GB-SXM", **more: object
) -> RankMemory:
    weights = Weights.of(load_models()[model], precision)
    return rank_memory(load_gpus()[gpu], weights, engine_version="0.22.1", **more)  # type: ignore[arg-type]


# vLLM 0.22 on H200 at 0.9, published logs, read 2026-11-20: GiB for the cache on each GPU.
@pytest.mark.parametrize(("tensor_parallel_size", "kv_gib"), [(1, 57.24), (2, 88.77), (4, 106.26), (8, 114.85)])
def test_room_for_the_cache_is_what_vllm_logs(tensor_parallel_size: int, kv_gib: float) -> None:
    low, middle, high = (
        memory_of("gpt-oss-120b", tensor_parallel_size=tensor_parallel_size, edge=edge).kv_bytes / GIB
        for edge in (Edge.PESSIMISTIC, Edge.MIDDLE, Edge.OPTIMISTIC)
    )
    assert middle == pytest.approx(kv_gib, rel=0.02)
    assert low < kv_gib * 1.01
    assert high > kv_gib * 0.99


def test_what_cannot_start_does_not_fit() -> None:
    assert not memory_of("llama-3.1-405b", gpu="H100-80GB-SXM", tensor_parallel_size=8).fits
    assert memory_of("llama-3.1-405b", Precision.FP8, tensor_parallel_size=8).fits
    assert not memory_of("llama-3.1-70b", gpu="H100-80GB-SXM").fits


def test_seventy_billion_for_twenty_users_at_32k_do_not_fit_one_h200() -> None:
    """The source documents say they do "with room to spare"; the cache alone is eleven times what they say."""
    cache, weights = (
        kv_cache(load_models()["llama-3.1-70b"]),
        Weights.of(load_models()["llama-3.1-70b"], Precision.INT8),
    )
    twenty = 20 * cache.sequence_bytes(32_768)
    assert twenty / 1e9 == pytest.approx(214.7, rel=0.001)
    one = rank_memory(H200, weights, engine_version="0.32.0")
    assert one.fits
    assert cache.max_concurrency(one.kv_bytes, 32_768) == pytest.approx(5.5, abs=0.1)
    four = rank_memory(H200, weights, engine_version="0.32.0", tensor_parallel_size=4)
    assert cache.max_concurrency(four.kv_bytes, 32_768, tensor_parallel_size=4) > 20


def test_a_process_sees_less_than_the_label() -> None:
    assert usable_bytes(H200) / GIB == pytest.approx(139.8, abs=0.05)
    assert usable_bytes(H100) < 80 * GIB


def test_adapters_take_room() -> None:
    weights = Weights.of(load_models()["llama-3.1-8b"])
    assert adapter_bytes(weights, 16) == pytest.approx(83.9e6, rel=0.01)  # PEFT, all linear layers, rank 16
    without, with_them = (rank_memory(H100, weights, engine_version="0.32.0", adapters=n) for n in (0, 8))
    assert without.kv_bytes - with_them.kv_bytes == pytest.approx(8 * adapter_bytes(weights, 16))
