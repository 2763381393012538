"""Scheduling of requests in a pool, and speculative decoding.

Source: vLLM 0.32.0, config/scheduler.py and config/speculative.py.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ..types import Name
from .section import Count, ServeSection, Tokens

Share = Annotated[float, Field(ge=0, le=0.99)]


class Scheduler(ServeSection):
    """Batches, queues and chunked prefill. `max_num_seqs` and `max_num_queued_reqs` are fields of the pool."""

    max_num_batched_tokens: Tokens | None = None
    """Maximum tokens of one step. More: faster prefill; fewer: steadier time between tokens."""
    max_num_scheduled_tokens: Tokens | None = None
    """Maximum tokens that one step schedules. Default: `max_num_batched_tokens`."""
    max_num_active_seqs: Count | None = None
    """Maximum requests with memory, including those that wait for a step. Default: `max_num_seqs`."""
    max_num_queued_tokens: Tokens | None = None
    """Maximum tokens of queued requests; above it the pool responds with 503."""
    enable_chunked_prefill: bool | None = None
    """Whether long prompts are processed in several steps. Default: true if the model supports it."""
    long_prefill_token_threshold: Annotated[int, Field(ge=0, le=16_777_216)] | None = None
    """Maximum tokens of one prompt in one step; 0: no limit."""
    long_prefill_token_threshold_adaptive: bool | None = None
    """Whether the limit for long prompts follows the load."""
    scheduling_policy: Literal["fcfs", "priority"] | None = None
    """Order of requests: by arrival, or by their `priority`."""
    disable_chunked_mm_input: bool | None = None
    """Whether an image is processed in one step."""
    scheduler_reserve_full_isl: bool | None = None
    """Whether a request starts only if its whole prompt fits into the KV cache."""
    watermark: Share | None = None
    """Fraction of the KV cache that new requests leave free, to avoid preemption."""
    prefill_schedule_interval: Count | None = None
    """Steps between two steps with prefill."""
    async_scheduling: bool | None = None
    """Whether the next step is scheduled while the GPU computes."""
    stream_interval: Count | None = None
    """Tokens between two events of a streamed answer."""


class Speculative(ServeSection):
    """Speculative decoding: a draft proposes tokens, and the model verifies them in one step."""

    as_json: ClassVar[str] = "speculative-config"
    not_flags: ClassVar[frozenset[str]] = frozenset({"model"})

    method: Literal["ngram", "draft_model", "eagle", "eagle3", "mtp", "medusa", "mlp_speculator"]
    """Source of the draft: the request's own text (`ngram`), a draft model, or heads of the model. `suffix` is excluded
    because its package is in no lock."""
    num_speculative_tokens: Annotated[int, Field(ge=1, le=64)]
    """Tokens of a draft."""
    model: Name | None = None
    """Draft model or heads, one of `models`; required except for `ngram` and `mtp`, which need none."""
    draft_tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] | None = None
    """GPUs that share the draft model: 1, or those of the pool."""
    max_model_len: Tokens | None = None
    """Context of the draft model; longer requests are served without a draft."""
    prompt_lookup_min: Annotated[int, Field(ge=1, le=64)] | None = None
    """Least tokens that `ngram` matches."""
    prompt_lookup_max: Annotated[int, Field(ge=1, le=64)] | None = None
    """Most tokens that `ngram` matches."""
    rejection_sample_method: Literal["standard", "block"] | None = None
    """Verification of a draft."""
    draft_sample_method: Literal["greedy", "probabilistic"] | None = None
    """Sampling of draft tokens."""
    disable_padded_drafter_batch: bool | None = None
    """Whether batches of the draft model have different lengths."""
    parallel_drafting: bool | None = None
    """Whether the draft model proposes all tokens in one step."""
    use_heterogeneous_vocab: bool | None = None
    """Whether the draft model may have another tokenizer."""
