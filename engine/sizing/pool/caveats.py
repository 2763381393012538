"""Caveats of a pool: calls that exceed a limit although calls of mean length meet it. Pure.

caveats(size_pool(case))   # ["7 % of the calls of documents exceed max_model_len 32,768 and are refused"]

Limits are checked for calls of mean length, because published measurements use them. Caveats cover longer calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from .pool import PoolSizing

_ACCEPTED_SHARE = 0.01
"""Fraction of calls above `max_model_len` without a caveat; `max_model_len: auto` accepts the same fraction."""


def caveats(sized: PoolSizing) -> list[str]:
    """Return one sentence per caveat; empty if long calls meet all limits too."""
    return [*_too_long(sized), *_late(sized), *_over_nodes(sized)]


def _over_nodes(sized: PoolSizing) -> Iterator[str]:
    pool = sized.case.pool
    if pool.nodes_per_stage > 1:
        yield (
            f"each stage is on {pool.nodes_per_stage} nodes, and each layer waits for their network; the figures are "
            "those of GPUs in one node, because no measurement over nodes is in the catalogue"
        )


def _too_long(sized: PoolSizing) -> Iterator[str]:
    max_len, demand = sized.case.pool.max_model_len, sized.case.demand
    for each in demand.classes if demand is not None and sized.case.model.role != "asr" else ():
        output_tokens = each.output_tokens.mean if sized.server is None or sized.server.is_generative else 0.0
        share = each.input_tokens.share_above(max_len - output_tokens)
        if share > _ACCEPTED_SHARE:
            yield f"{share * 100:.0f} % of the calls of {each.name} exceed max_model_len {max_len:,} and are refused"


def _late(sized: PoolSizing) -> Iterator[str]:
    demand = sized.case.demand
    if sized.performance is None or sized.limit is None or demand is None or not sized.limit.is_held:
        return
    for each, took_s in sized.performance.long_ttft_s(sized.point or sized.limit.point, demand):
        if each.ttft_s is not None and took_s > each.ttft_s:
            yield (
                f"prompts of {each.input_tokens.p95:,.0f} tokens, the 95th percentile of {each.name}: TTFT "
                f"({took_s * 1e3:,.0f}) ms, above {each.ttft_s * 1e3:,.0f} ms"
            )
