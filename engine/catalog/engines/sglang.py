"""SGLang, rendered from its documentation. Not run."""

from __future__ import annotations

from .engine import Engine, EngineCapability, Metric, Metrics

SGLANG = Engine(
    name="sglang",
    title="SGLang",
    environment="sglang",
    capabilities=frozenset(
        {
            EngineCapability.TENSOR_PARALLEL,
            EngineCapability.PIPELINE_PARALLEL,
            EngineCapability.MULTI_NODE,
            EngineCapability.LORA,
            EngineCapability.EMBEDDINGS,
            EngineCapability.QUEUE_CAP,
            EngineCapability.QUANTIZATION,
            EngineCapability.DTYPE,
            EngineCapability.KV_CACHE_DTYPE,
            EngineCapability.EAGER,
        }
    ),
    metrics=Metrics(
        running=Metric("sglang:num_running_reqs", "requests"),
        waiting=Metric("sglang:num_queue_reqs", "requests"),
        kv_cache=Metric("sglang:token_usage", "ratio"),
        time_to_first_token=Metric("sglang:time_to_first_token_seconds", "seconds"),
        inter_token_latency=Metric("sglang:inter_token_latency_seconds", "seconds"),
    ),
    surfaces={"chat": ("chat.completions", "completions"), "embedding": ("embeddings",)},
    command=("{root}/bin/python", "-m", "sglang.launch_server", "--model-path", "{model}"),
    marker="sglang.launch_server",
    proxy_command=("/usr/sbin/nginx",),
    variables={"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    not_run="its wheels need CUDA, and no lock contains them",
    source=(
        "sgl-project/sglang 004813e, docs/advanced_features/server_arguments.md; "
        "docs.sglang.io, references/production_metrics; read 2026-11-29"
    ),
)
