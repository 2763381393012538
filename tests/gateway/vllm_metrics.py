"""Metrics as vLLM 0.32 writes them, shortened: help and type lines, labels, neighbours with names alike."""

from __future__ import annotations


def metrics(*, waiting: int = 0, running: int = 0, kv_usage: float = 0.0, blocks: int = 1000, engine: int = 0) -> bytes:
    """The `/metrics` of one engine."""
    label = f'engine="{engine}",model_name="chat"'
    return f"""\
# HELP python_info Python platform information
# TYPE python_info gauge
python_info{{implementation="CPython",version="3.11.7"}} 1.0
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{{label}}} {running:.1f}
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{{label}}} {waiting:.1f}
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{{{label},reason="capacity"}} 77.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{{label}}} {kv_usage}
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="16",cache_dtype="auto",engine="{engine}",num_gpu_blocks="{blocks}"}} 1.0
vllm:time_to_first_token_seconds_bucket{{{label},le="0.001"}} 0.0
""".encode()
