"""Estimates disaggregated prefill: separate prefill and decode servers on the same GPUs. Pure.

On a shared server each prefill delays all answers in progress. Separate servers avoid this, but transfer the KV cache
of each prompt over the fabric. Both are loaded to the same limits at the pessimistic edge, and compared by requests/s
per GPU. The estimate was not compared with measurements.

    estimate = disaggregate_prefill(performance, limit, server, demand, link_gb_s=50)
    estimate.gain, estimate.transfer_s, estimate.prefill_per_decode

Sources: DistServe (OSDI 2024, arXiv 2401.09670); waiting times of an M/D/1 queue.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit, Performance
from .server import Server

BUSY = 0.7
"""Planned utilization of a prefill server; at 0.7 a prompt waits 1.17 x its prefill time (M/D/1)."""
_STEPS = 40


@dataclass(frozen=True, slots=True)
class DisaggregationGain:
    """Separate prefill and decode servers, each with as many GPUs as a server of the pool."""

    transfer_s: float
    """Time to transfer the KV cache of a prompt of mean length."""
    ttft_s: float
    """At the pessimistic edge."""
    itl_s: float
    """At the pessimistic edge, with decode servers at their limit."""
    decode_in_flight: float
    """Concurrent answers of one decode server."""
    prefill_per_decode: float
    """Prefill servers needed for one decode server."""
    rate_per_gpu_s: float
    """Requests per second and GPU, including prefill servers."""
    shared_rate_per_gpu_s: float
    """The same for shared servers."""

    @property
    def gain(self) -> float:
        """Rate with separate servers / rate with shared servers - 1; negative if shared servers are better."""
        return self.rate_per_gpu_s / self.shared_rate_per_gpu_s - 1


def disaggregate_prefill(
    performance: Performance, limit: Limit, server: Server, demand: PoolDemand, *, link_gb_s: float
) -> DisaggregationGain | None:
    """Return the estimate; None for models without output tokens, or if a limit cannot be met.

    Args:
        link_gb_s: bandwidth per GPU to another node, in GB/s; every GPU sends its part of the cache.
    """
    if not server.is_generative or not limit.is_held:
        return None
    serving, input_tokens, output_tokens = performance.serving, demand.input_tokens, demand.output_tokens
    slower = performance.bands["open"]["itl"].p90
    late = performance.bands["closed"]["ttft"].p90
    transfer_s = server.sequence_bytes(input_tokens) / (link_gb_s * 1e9)
    prefill_s = serving.prefill_s(input_tokens)

    def itl_s(in_flight: float) -> float:
        return slower * serving.decode_s(in_flight, input_tokens + output_tokens / 2)

    wait_s = BUSY * prefill_s / (2 * (1 - BUSY))
    ttft_s = late * (serving.before_s + prefill_s + wait_s) + transfer_s + itl_s(1.0)
    if (demand.ttft_s is not None and ttft_s > demand.ttft_s) or (demand.itl_s is not None and itl_s(1) > demand.itl_s):
        return None
    in_flight = max(1.0, performance.max_in_flight)
    if demand.itl_s is not None and itl_s(in_flight) > demand.itl_s:
        low, high = 1.0, in_flight
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if itl_s(middle) <= demand.itl_s else (low, middle)
        in_flight = low
    rate = in_flight / (itl_s(in_flight) * output_tokens)
    prefill_per_decode = rate * prefill_s / performance.bands["open"]["throughput"].p10 / BUSY
    return DisaggregationGain(
        transfer_s=transfer_s,
        ttft_s=ttft_s,
        itl_s=itl_s(in_flight),
        decode_in_flight=in_flight,
        prefill_per_decode=prefill_per_decode,
        rate_per_gpu_s=rate / (1 + prefill_per_decode) / server.gpus,
        shared_rate_per_gpu_s=limit.point.in_flight / limit.point.e2e_s / server.gpus,
    )
