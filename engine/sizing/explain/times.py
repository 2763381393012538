"""Derivation steps of times: a single request, the limit of a replica, and disaggregated prefill.

    one_request(performance, demand).inputs

The values come from `throughput` and `step_time`; this module only formats them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..demand.pool_demand import PoolDemand
from ..performance.capacity import Limit, Performance
from ..performance.step_time import StepBreakdown
from ..pool.disaggregated_prefill import disaggregate_prefill
from ..pool.pool import PoolSizing
from .step import Step, band, seconds


def one_request(performance: Performance, demand: PoolDemand) -> Step:
    """Return the prefill, decode step and total time of a single request."""
    one = performance.at(1.0, demand)
    serving, input_tokens, output_tokens = (
        performance.serving,
        demand.input_tokens,
        demand.output_tokens if performance.is_generative else 1.0,
    )
    prefill = serving.steps.prefill_breakdown(input_tokens * (1 - serving.prefix_hit_share), input_tokens)
    decode = serving.steps.decode_breakdown(1.0, input_tokens + output_tokens / 2)
    return Step(
        "a single request",
        "prefill and decode step = products + attention + links + software; TTFT = before + prefill; "
        "ITL = decode step / tokens per step; tokens/s = answer / (before + prefill + (answer - 1) x ITL)",
        (
            f"prompt {input_tokens:,.0f} tokens, answer {output_tokens:,.0f}",
            f"{serving.prefix_hit_share * 100:.0f} % of the prompt in the prefix cache",
            f"before a prefill starts {seconds(serving.before_s)}",
            f"prefill {seconds(sum(prefill))}: {_parts(prefill)}",
            f"decode step {seconds(sum(decode))}: {_parts(decode)}",
            f"tokens per sequence and decode step: {serving.tokens_per_step:g} (above 1 with speculative decoding)",
        ),
        f"TTFT {band(one.ttft)}, ITL {band(one.itl)}",
    )


def _parts(parts: StepBreakdown) -> str:
    named = (("products", parts.products_s), ("attention", parts.attention_s), ("links", parts.links_s))
    return ", ".join(f"{name} {seconds(value)}" for name, value in (*named, ("software", parts.software_s)))


def at_the_limit(provenance: str, performance: Performance, limit: Limit, demand: PoolDemand) -> Step:
    """Return the limit of one replica and the binding constraint."""
    point, serving = limit.point, performance.serving
    tokens = point.tokens_per_s
    output_tokens = demand.output_tokens if performance.is_generative else 1.0
    step_s = serving.decode_s(point.in_flight, demand.input_tokens + output_tokens / 2)
    each_s = serving.together_s(demand.input_tokens, point.in_flight / output_tokens)
    cycle_s = serving.cycle_s(point.in_flight, output_tokens, step_s, serving.prefill_s(demand.input_tokens), each_s)
    cycle = f"decode of {point.in_flight:,.1f} requests {seconds(step_s)} per token, each prefill {seconds(each_s)}"
    cycle += f": cycle {seconds(cycle_s)}"
    return Step(
        "limit of one replica",
        "maximum in flight with all times within limits at the pessimistic edge (90th percentile of measured / "
        "computed); "
        "cycle = before + prefill + (answer - 1) x decode + (in flight - 1) x each prefill; "
        "TTFT = before + prefill + 1.5 cycle / answer x (1 - 1 / in flight) + waiting; "
        "ITL = (cycle - TTFT) / (answer - 1), at least decode; tokens/s = in flight x answer / cycle",
        (
            cycle,
            f"at most {performance.max_in_flight:,.1f} by {performance.max_in_flight_binding}",
            f"TTFT {band(point.ttft)}, limit {_or_none(demand.ttft_s)}, for prompts of mean length",
            *(
                f"prompts of {each.input_tokens.p95:,.0f} tokens, the 95th percentile of {each.name}: "
                f"TTFT {seconds(took_s)} at the pessimistic edge"
                for each, took_s in performance.long_ttft_s(point, demand)
            ),
            f"ITL {band(point.itl)}, limit {_or_none(demand.itl_s)}",
            f"{tokens.middle:,.0f} tokens/s (band {tokens.low:,.0f} to {tokens.high:,.0f})",
        ),
        f"{point.in_flight:,.1f} in flight; limited by {limit.binding} ({provenance})",
    )


def _or_none(limit_s: float | None) -> str:
    return "none" if limit_s is None else seconds(limit_s)


def disaggregated_prefill(
    sized: PoolSizing, performance: Performance, limit: Limit, demand: PoolDemand
) -> Iterator[Step]:
    """Yield the estimate of disaggregated prefill, if the fabric of the platform is known."""
    figure = sized.case.platform.checks.compute_nic_gbit_s
    if sized.server is None or figure is None or not isinstance(figure.value, int | float):
        return
    link_gb_s = figure.value / 8
    found = disaggregate_prefill(performance, limit, sized.server, demand, link_gb_s=link_gb_s)
    if found is None:
        return
    yield Step(
        "disaggregated prefill, for comparison",
        "decode servers without prefills, plus prefill servers at 70 % utilization; the cache is transferred",
        (
            f"cache of one prompt over {link_gb_s:g} GB/s per GPU: {seconds(found.transfer_s)}",
            f"TTFT {seconds(found.ttft_s)}, ITL {seconds(found.itl_s)} at the pessimistic edge",
            f"{found.decode_in_flight:,.1f} in flight per decode server",
            f"{found.prefill_per_decode:.2f} prefill servers for each decode server",
        ),
        f"{found.gain * 100:+,.0f} % requests per GPU (modelled, not compared with measurements)",
    )
