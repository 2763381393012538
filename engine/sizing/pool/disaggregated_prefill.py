"""Prefill and decode on servers of their own: what that gives at the same GPUs, and what moving the cache costs. Pure.

Together, every prompt makes all answers wait for its prefill; apart, answers don't wait, but each prompt's cache
crosses the fabric. Both are loaded to the same limits, at the pessimistic edge, and compared by requests a GPU.

    apart = disaggregate_prefill(performance, limit, server, demand, link_gb_s=50)
    apart.gain, apart.transfer_s, apart.prefill_per_decode

Sources: the split and its terms, DistServe (OSDI 2024, arXiv 2401.09670); waiting, M/D/1. Not held to measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit, Performance
from .server import Server

BUSY = 0.7
"""Share of a prefill server's time that is planned for; at 0.7 a prompt waits 1.17 times its prefill (M/D/1)."""
_STEPS = 40


@dataclass(frozen=True, slots=True)
class DisaggregationGain:
    """Servers apart, each of the same GPUs as the pool's."""

    transfer_s: float
    """To move the cache of one average prompt."""
    ttft_s: float
    """At the pessimistic edge."""
    itl_s: float
    """At the pessimistic edge, decode servers at their limit."""
    decode_in_flight: float
    """Answers that one decode server carries."""
    prefill_per_decode: float
    """Prefill servers that one decode server keeps busy."""
    rate_per_gpu_s: float
    """Requests a second and GPU, prefill servers counted."""
    together_rate_per_gpu_s: float

    @property
    def gain(self) -> float:
        """How much more each GPU does apart: 0.2 is a fifth more; negative when together is better."""
        return self.rate_per_gpu_s / self.together_rate_per_gpu_s - 1


def disaggregate_prefill(
    performance: Performance, limit: Limit, server: Server, demand: PoolDemand, *, link_gb_s: float
) -> DisaggregationGain | None:
    """Servers apart under the same demand and limits; None where no answer is made, or a limit can't be kept apart.

    Args:
        link_gb_s: that one GPU sends to another node, in GB/s; every GPU of a server sends its own part.
    """
    if not server.is_generative or not limit.is_held:
        return None
    serving, input_tokens, output_tokens = performance.serving, demand.input_tokens, demand.output_tokens
    slower = performance.bands["open"]["itl"].p90
    late = performance.bands["closed"]["ttft"].p90
    transfer_s = server.session_bytes(input_tokens) / (link_gb_s * 1e9)
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
        together_rate_per_gpu_s=limit.point.in_flight / limit.point.e2e_s / server.gpus,
    )
