"""Admission of requests into the KV cache, as vLLM schedules them. Pure.

Rules of vLLM 0.32.0 (`v1/core/sched/scheduler.py` and `v1/core/kv_cache_manager.py`, read 2026-11-28):

- A waiting request is admitted if the blocks of its prompt are free. No block is reserved for its answer. The scheduler
  option `watermark` keeps a fraction of the blocks free at admission; its default is 0.
- A running request receives one more block when it needs one. If no block is free, the request that was admitted last
  is preempted: its blocks are freed, it returns to the front of the queue, and its tokens are computed again.
- A step that preempts admits no request.

Requests at different positions of their answers therefore hold the prompt and half of the answer on average:

    held_tokens(512, 512)             # 768: 136,560 tokens of KV cache run 178 requests, not 133
    recomputed_tokens(512, 1.4)       # 461: prefill after preemptions, for each request, at 140 % of the KV cache
"""

from __future__ import annotations

# Simulation of the rules above for equal and varied lengths, with prompts of 0.2 to 10 answers, 2026-11-28
# (tests/engine/sizing/test_admission.py): below 85 % of the sequences that fit almost no request is preempted. Above
# 125 % growing answers displace nearly one token for each generated token. Blocks of preempted requests that the prefix
# cache still has are not deducted.
_FIRST, _ALL = 0.85, 1.25
_DISPLACED = 0.9  # tokens per generated token


def held_tokens(input_tokens: float, output_tokens: float, *, reserves_answer: bool = False) -> float:
    """Return the mean tokens of KV cache of a running request.

    Args:
        reserves_answer: for an engine that admits a request only if its whole answer fits.
    """
    return input_tokens + output_tokens * (1.0 if reserves_answer else 0.5)


def recomputed_tokens(output_tokens: float, pressure: float) -> float:
    """Return the mean tokens of a request that are computed again after preemptions.

    Args:
        pressure: requests that would run with an unlimited KV cache / requests that fit into it.
    """
    share = min(1.0, max(0.0, (pressure - _FIRST) / (_ALL - _FIRST)))
    return _DISPLACED * share * output_tokens
