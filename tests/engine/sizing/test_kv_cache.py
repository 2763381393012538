"""The KV cache, held to what vLLM itself logged on real GPUs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pytest

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.models import ModelEntry, load_models
from sovctl.engine.sizing import GIB
from sovctl.engine.sizing.memory.cache_layout import kv_cache
from sovctl.engine.sizing.memory.kv_cache import AttentionSpan, KvCache, LayerGroup
from sovctl.engine.sizing.pool.server import Server
from sovctl.engine.spec import Pool

MEASURED = Path(__file__).resolve().parents[3].parent / "shared/catalog/validation_memory.csv"
POOL = Pool(name="vectors", model="embedder", node_group="gpus", max_model_len=8192)
QWEN2_7B = KvCache((LayerGroup(AttentionSpan.FULL, 28, 256, 4),))  # not in the catalogue: Qwen/Qwen2-7B config.json


@dataclass(frozen=True)
class Log:
    """One start-up log: what was free for the cache on each GPU, and how many tokens vLLM said that is."""

    model: str
    tensor_parallel_size: int
    max_model_len: int
    max_num_batched_tokens: int
    free_gib: float
    tokens: int
    has_hybrid_allocator: bool = True


# Published start-up logs, read 2026-11-20: heyram74/nebius_sopertors_inferencex_benchmark (vLLM 0.22.1, H200),
# dennislee22/vLLM-benchmarking (0.10.1.1, A100), GloriaXimingLu/inferencex-profiling (0.22.0, H200).
LOGS = [
    Log("gpt-oss-120b", 2, 2068, 8192, 88.77, 2560976),
    Log("gpt-oss-120b", 4, 2068, 8192, 106.26, 6131009),
    Log("gpt-oss-120b", 8, 2068, 8192, 114.85, 13252813),
    Log("gpt-oss-120b", 8, 2068, 8192, 114.84, 13251688),
    Log("gpt-oss-120b", 4, 16384, 2048, 45.32, 2640144, has_hybrid_allocator=False),
    Log("qwen2-7b", 2, 16384, 2048, 12.02, 450192),
    Log("qwen2-7b", 2, 16384, 2048, 31.83, 1192160),
    Log("gpt-oss-120b", 1, 2068, 8192, 57.24, 825607),
    Log("gpt-oss-120b", 1, 9472, 8192, 57.24, 886768),
    Log("gpt-oss-120b", 1, 2068, 8192, 57.22, 825377),
]


def cache_of(model: str) -> KvCache:
    return QWEN2_7B if model == "qwen2-7b" else kv_cache(load_models()[model])


def computed(log: Log) -> int:
    return cache_of(log.model).log_tokens(
        log.free_gib * GIB,
        max_model_len=log.max_model_len,
        tensor_parallel_size=log.tensor_parallel_size,
        max_num_batched_tokens=log.max_num_batched_tokens,
        has_hybrid_allocator=log.has_hybrid_allocator,
    )


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.model}-tp{log.tensor_parallel_size}-{log.max_model_len}")
def test_tokens_are_vllms_own_within_one_percent(log: Log) -> None:
    assert computed(log) == pytest.approx(log.tokens, rel=0.01)


@pytest.mark.shared
@pytest.mark.skipif(not MEASURED.exists(), reason="the published measurements are not at hand")
def test_every_published_log_is_met_within_one_percent() -> None:
    with MEASURED.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 12
    for row in rows:
        log = Log(
            row["model"],
            int(row["tp"]),
            int(row["max_model_len"]),
            int(float(row["max_num_batched_tokens"].split()[0])),
            float(row["available_kv_gib_per_gpu"]),
            int(row["gpu_kv_cache_tokens"]),
            has_hybrid_allocator=not row["vllm"].startswith("0.10"),
        )
        assert computed(log) == pytest.approx(log.tokens, rel=0.01), row["source"]


# What the shape says for one token of a long session, one copy, bf16.
@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [
        ("llama-3.1-8b", 131_072),
        ("llama-3.1-70b", 327_680),
        ("llama-3.1-405b", 516_096),
        ("mixtral-8x22b", 229_376),
        ("deepseek-r1", 61 * 576 * 2),
        ("gpt-oss-120b", 18 * 8 * 128 * 2),
        ("qwen3-next-80b-a3b", 12 * 2 * 512 * 2),
    ],
)
def test_bytes_of_one_more_token(model: str, bytes_per_token: int) -> None:
    assert kv_cache(load_models()[model]).token_bytes() == bytes_per_token


def test_heads_are_replicated_beyond_their_count_and_latent_caches_always() -> None:
    qwen = kv_cache(load_models()["qwen3-235b-a22b"])  # 4 KV heads
    assert qwen.token_bytes(tensor_parallel_size=8) == qwen.token_bytes(tensor_parallel_size=4)
    latent = kv_cache(load_models()["deepseek-v3"])
    assert latent.token_bytes(tensor_parallel_size=8) == latent.token_bytes()


def test_a_window_stops_growing() -> None:
    gemma = kv_cache(load_models()["gemma-3-27b"])
    longer, shorter = gemma.sequence_bytes(100_000), gemma.sequence_bytes(50_000)
    assert longer - shorter == 50_000 * 10 * 16 * 256 * 2


def chat_models() -> list[ModelEntry]:
    return [model for model in load_models().values() if model.role == "chat"]


@pytest.mark.parametrize("model", chat_models(), ids=lambda model: str(model.id))
def test_the_catalogue_agrees_with_itself(model: ModelEntry) -> None:
    if model.attention.startswith("compressed") or model.arch.global_kv_heads:
        pytest.skip("how its cache is laid out is not in the catalogue")
    stated, cache = model.kv_bytes_per_token_bf16, kv_cache(model)
    if stated.full_attention_layers_only is not None:
        assert cache.token_bytes() == stated.full_attention_layers_only
    else:
        growing = [group for group in cache.groups if group.span is not AttentionSpan.STATE]
        assert sum(group.layers * group.rank_elements(1) * 2 for group in growing) == stated.all_layers_full_attention


@pytest.mark.parametrize(
    ("base", "arch", "tokens"),
    [
        # vllm-project/vllm issue 24280: nvidia/NVIDIA-Nemotron-Nano-9B-v2 has pages of 672 tokens; its config.json.
        (
            "nemotron-3-nano-30b-a3b",
            {"kv_heads": 8, "mamba_heads": 128, "mamba_head_dim": 80, "mamba_state": 128, "state_bytes": 2},
            672,
        ),
        # vllm-project/vllm PR 37467: "Setting attention block size to 528 tokens"; the shape of Qwen3.5-9B.
        ("qwen3.5-27b", {"kv_heads": 4, "linear_num_value_heads": 32, "linear_num_key_heads": 16}, 528),
    ],
)
def test_blocks_are_as_large_as_a_state_as_vllm_logs_it(base: str, arch: dict[str, int], tokens: int) -> None:
    model = load_models()[base]
    cache = kv_cache(model.model_copy(update={"arch": model.arch.model_copy(update=arch)}))
    assert cache.block_tokens(1, 2) == cache.block_tokens(2, 2) == tokens
    assert cache.sequence_bytes(10) > cache.sequence_bytes(1) * 0.99, "the first token costs a whole block"


@pytest.mark.parametrize("name", ["bge-m3", "bge-reranker-v2-m3"])
def test_an_encoder_keeps_nothing_however_long_the_text(name: str) -> None:
    cache = kv_cache(load_models()[name])
    assert cache.sequence_bytes(8192) == 0
    assert cache.max_concurrency(0, 8192) == inf
    server = Server.of(load_models()[name], load_gpus()["L40S"], POOL, engine_version="0.32.0")
    assert (server.kv_bytes(), server.max_concurrency(8192)) == (0, POOL.max_num_seqs)


def test_an_encoder_that_does_not_fit_serves_nothing() -> None:
    small = load_gpus()["L40S"].model_copy(update={"usable_mib": 1024})
    assert Server.of(load_models()["bge-m3"], small, POOL, engine_version="0.32.0").max_concurrency(8192) == 0


def test_a_model_of_windows_alone_is_laid_out() -> None:
    """A site's own entry may have no layer that keeps everything."""
    llama = load_models()["llama-3.3-70b"]
    shape = llama.arch.model_copy(update={"sliding_layers": llama.arch.layers, "window": 128})
    cache = kv_cache(llama.model_copy(update={"arch": shape}))
    assert [group.span for group in cache.groups] == [AttentionSpan.WINDOW]
    assert cache.max_concurrency(40e9, 100_000) == pytest.approx(cache.max_concurrency(40e9, 50_000))


@pytest.mark.parametrize(
    "model", ["llama-3.3-70b", "gemma-3-27b", "gpt-oss-120b", "nemotron-3-nano-30b-a3b", "deepseek-r1"]
)
@pytest.mark.parametrize("tokens", [100, 8192, 100_000])
def test_what_fits_is_the_room_over_what_a_session_takes(model: str, tokens: int) -> None:
    """Layers that equal groups are padded by are counted in both: 52 of gemma's 62 lie in six groups of ten."""
    cache = kv_cache(load_models()[model])
    sizes = {"tensor_parallel_size": 2, "kv_cache_dtype_bytes": 2}
    assert cache.max_concurrency(100e9, tokens, **sizes) == pytest.approx(
        100e9 / cache.sequence_bytes(tokens, **sizes), rel=1e-3
    )
