"""TensorRT-LLM: `trtllm-serve` with its PyTorch backend, rendered from its documentation. Not run.

Several nodes need MPI, which sovctl does not start.
"""

from __future__ import annotations

from .engine import Engine, EngineCapability, Metric, Metrics

TENSORRT_LLM = Engine(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    environment="tensorrt-llm",
    capabilities=frozenset({EngineCapability.TENSOR_PARALLEL, EngineCapability.PIPELINE_PARALLEL}),
    metrics=Metrics(
        running=Metric("trtllm_num_requests_running", "requests"),
        waiting=Metric("trtllm_num_requests_waiting", "requests"),
        kv_cache=Metric("trtllm_kv_cache_utilization", "ratio"),
        time_to_first_token=Metric("trtllm_time_to_first_token_seconds", "seconds"),
        inter_token_latency=Metric("trtllm_time_per_output_token_seconds", "seconds"),
    ),
    metrics_path="/prometheus/metrics",  # /metrics has statistics of each iteration as JSON
    surfaces={"chat": ("chat.completions", "completions")},
    command=("{root}/bin/trtllm-serve", "{model}"),
    marker="{root}/bin/trtllm-serve",
    proxy_command=("/usr/sbin/nginx",),
    variables={"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRTLLM_NO_USAGE_STATS": "1"},
    not_run="its wheels need CUDA, and no lock contains them",
    source=(
        "NVIDIA/TensorRT-LLM 00209af, tensorrt_llm/commands/serve.py; 050f80d, tensorrt_llm/metrics/collector.py; "
        "read 2026-11-29"
    ),
)
