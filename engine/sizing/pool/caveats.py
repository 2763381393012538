"""What holds for a pool on average and not for all of its calls, in sentences. Pure.

caveats(size_pool(case))   # ["7 % of the calls of documents are longer than max_model_len 32,768: refused"]

A limit is judged for calls of average length, as published measurements are; here stands what longer ones get.
"""

from __future__ import annotations

from collections.abc import Iterator

from .pool import PoolSizing

_FEW = 0.01
"""Share of calls that may be longer than a server takes without a word: `max_model_len: auto` leaves as many."""


def caveats(sized: PoolSizing) -> list[str]:
    """One sentence each; none where all is well for long calls too."""
    return [*_too_long(sized), *_late(sized)]


def _too_long(sized: PoolSizing) -> Iterator[str]:
    most, demand = sized.case.pool.max_model_len, sized.case.demand
    for each in demand.classes if demand is not None and sized.case.model.role != "asr" else ():
        output_tokens = each.output_tokens.mean if sized.server is None or sized.server.is_generative else 0.0
        share = each.input_tokens.share_above(most - output_tokens)
        if share > _FEW:
            yield f"{share * 100:.0f} % of the calls of {each.name} are longer than max_model_len {most:,}: refused"


def _late(sized: PoolSizing) -> Iterator[str]:
    demand = sized.case.demand
    if sized.performance is None or sized.limit is None or demand is None or not sized.limit.is_held:
        return
    for each, took_s in sized.performance.long_ttft_s(sized.point or sized.limit.point, demand):
        if each.ttft_s is not None and took_s > each.ttft_s:
            yield (
                f"prompts of {each.input_tokens.p95:,.0f} tokens, the 95th percentile of {each.name}: TTFT "
                f"({took_s * 1e3:,.0f}) ms, past {each.ttft_s * 1e3:,.0f} ms"
            )
