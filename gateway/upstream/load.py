"""Load of a pool's server, from its `/metrics`. Pure.

A vLLM server with several engines (data parallel) has a line for each. The names are those of
`engine/catalog/engines/`; a test compares them, because the gateway imports nothing of `engine`.

load = load_of(text, now_s=now, in_flight=3)     # None for a server of another engine
load.waiting, load.free_kv_tokens
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricNames:
    """Names of one engine's gauges."""

    waiting: bytes
    running: bytes
    kv_usage: bytes | None
    """Used part of the KV cache, 0 to 1; None if the engine does not export it."""


ENGINES = (
    # vllm/v1/metrics/loggers.py of 0.32, measured 2026-11
    MetricNames(b"vllm:num_requests_waiting", b"vllm:num_requests_running", b"vllm:kv_cache_usage_perc"),
    # versions of vLLM before 0.10
    MetricNames(b"vllm:num_requests_waiting", b"vllm:num_requests_running", b"vllm:gpu_cache_usage_perc"),
    # llama.cpp 0.7.0, measured 2026-11
    MetricNames(b"llamacpp:requests_deferred", b"llamacpp:requests_processing", None),
    # SGLang and TensorRT-LLM: from their documents (engine/catalog/engines/), not run
    MetricNames(b"sglang:num_queue_reqs", b"sglang:num_running_reqs", b"sglang:token_usage"),
    MetricNames(b"trtllm_num_requests_waiting", b"trtllm_num_requests_running", b"trtllm_kv_cache_utilization"),
)
"""In the order in which they are tried."""
_CACHE = b"vllm:cache_config_info"
_BLOCK_SIZE = re.compile(rb'[{,]block_size="(\d{1,9})"')
_BLOCKS = re.compile(rb'[{,]num_gpu_blocks="(\d{1,12})"')


@dataclass(frozen=True, slots=True)
class Load:
    """One measurement of one server."""

    waiting: int
    """Requests in its queue, of all clients."""
    running: int
    kv_usage: float
    """Used part of its KV cache, 0 to 1; the mean of its engines. 0 if the server does not report it."""
    kv_tokens: int | None
    """Capacity of its KV cache in tokens; None if not reported."""
    at_s: float
    """Time of the measurement, by the caller's clock."""
    in_flight: int
    """This process's requests there at that moment, so that later ones can be added."""

    @property
    def free_kv_tokens(self) -> int | None:
        """Free tokens of its KV cache."""
        return None if self.kv_tokens is None else int(self.kv_tokens * (1 - self.kv_usage))

    def outstanding(self, in_flight: int) -> int:
        """Return the estimated requests there: the measured ones and those sent since.

        Args:
            in_flight: this process's requests there now.
        """
        return max(in_flight, self.waiting + self.running + in_flight - self.in_flight)

    def queue(self, in_flight: int) -> int:
        """Return the estimated queue. If requests were waiting, those sent since are waiting too."""
        return max(0, self.waiting + in_flight - self.in_flight) if self.waiting else 0


def load_of(metrics: bytes, *, now_s: float, in_flight: int) -> Load | None:
    """Parse a server's metrics; None if they are of no known engine.

    Args:
        metrics: in Prometheus' text format.
        in_flight: this process's requests there when the metrics were requested.
    """
    for names in ENGINES:
        waiting, running = values_of(metrics, names.waiting), values_of(metrics, names.running)
        usage = values_of(metrics, names.kv_usage) if names.kv_usage else [0.0]
        if waiting and running and usage:
            break
    else:
        return None
    blocks = [
        int(size.group(1)) * int(count.group(1))
        for line in _lines(metrics, _CACHE)
        if (size := _BLOCK_SIZE.search(line)) and (count := _BLOCKS.search(line))
    ]
    mean_usage = min(1.0, max(0.0, sum(usage) / len(usage)))
    return Load(int(sum(waiting)), int(sum(running)), mean_usage, sum(blocks) or None, now_s, in_flight)


def _lines(metrics: bytes, name: bytes) -> list[bytes]:
    """Return the samples of one metric. A server has hundreds of metrics, of which four are read."""
    found = []
    start = metrics.find(name)
    while start >= 0:
        end = metrics.find(b"\n", start)
        end = len(metrics) if end < 0 else end
        is_at_line_start = start == 0 or metrics[start - 1] == 0x0A
        if is_at_line_start and metrics[start + len(name) : start + len(name) + 1] in (b"{", b" "):
            found.append(metrics[start:end])
        start = metrics.find(name, end)
    return found


def values_of(metrics: bytes, name: bytes) -> list[float]:
    """Return the values of one metric, one for each engine."""
    values = []
    for line in _lines(metrics, name):
        try:
            value = float(line.rpartition(b"}")[2].split()[0] if b"}" in line else line.split()[1])
        except (ValueError, IndexError):
            continue
        if 0 <= value < 1e12:
            values.append(value)
    return values
