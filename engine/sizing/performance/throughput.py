"""Throughput, time between tokens and time to first token of a replica under load. Pure.

Published measurements use four load regimes:
- static: one batch that starts and ends together;
- closed: a fixed number of clients, each sends its next request after an answer;
- open: independent arrivals (Poisson);
- offline: a queue that is never empty.

    serving = Serving(steps, kv_max_concurrency=120.0, max_batch=256)
    serving.closed(clients=64, input_tokens=1000, output_tokens=500).ttft_s
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .admission import held_tokens, recomputed_tokens
from .step_time import Steps

# Tokens of one prefill step: default of vLLM's `--max-num-batched-tokens` on large GPUs.
_PREFILL_TOKENS = 8192
_CORNER = 3  # sharpness at which a convoy stops growing; 2 to 5 give the same error on unseen rows
_MAX_UTILIZATION = 0.97  # of a replica; above it the queue grows without bound


class Regime(StrEnum):
    """Arrival of requests."""

    STATIC = "static"
    CLOSED = "closed"
    OPEN = "open"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated performance of one replica."""

    output_tokens_per_s: float
    itl_s: float
    """Time between two tokens of one answer."""
    ttft_s: float | None
    """Time from the request to its first token; None for offline."""
    batch: float
    """Sequences in flight."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One replica under load.

    Args:
        kv_max_concurrency: running sequences that fit into the KV cache, each with the tokens that it holds on average
            (`admission.held_tokens`).
        max_batch: maximum concurrent sequences (vLLM: `--max-num-seqs`).
        prefix_hit_share: fraction of a prompt in the prefix cache, which is not computed again.
        tokens_per_step: tokens per sequence and step; above 1 with speculative decoding.
    """

    steps: Steps
    kv_max_concurrency: float
    max_batch: float
    prefix_hit_share: float = 0.0
    tokens_per_step: float = 1.0

    def static(self, batch: float, input_tokens: float, output_tokens: float) -> Estimate:
        """Return the estimate for a batch that starts and ends together."""
        first_s = self.steps.prefill_s(batch * input_tokens, input_tokens) + self.before_s
        step_s = self.steps.decode_s(batch, input_tokens + output_tokens / 2)
        return Estimate(batch * output_tokens / (first_s + step_s * (output_tokens - 1)), step_s, first_s, batch)

    def offline(self, input_tokens: float, output_tokens: float) -> Estimate:
        """Return the estimate for the largest batch, refilled continuously; prompts are prefilled together."""
        batch = max(1.0, min(self.kv_max_concurrency, self.max_batch))
        each_s = self.together_s(input_tokens, batch) * self._prefills(self.max_batch, input_tokens, output_tokens)
        cycle_s = output_tokens * self.decode_s(batch, input_tokens + output_tokens / 2) + batch * each_s
        return Estimate(batch * output_tokens / cycle_s, cycle_s / output_tokens, None, batch)

    def closed(self, clients: float, input_tokens: float, output_tokens: float) -> Estimate:
        """Return the estimate for `clients` that each send the next request immediately after an answer."""
        batch = max(1.0, min(clients, self.kv_max_concurrency, self.max_batch))
        step_s = self.decode_s(batch, input_tokens + output_tokens / 2)
        prefill_s, each_s = self.prefill_s(input_tokens), self.together_s(input_tokens, batch)
        prefills = self._prefills(clients, input_tokens, output_tokens)
        cycle_s = self.cycle_s(batch, output_tokens, step_s, prefill_s, each_s * prefills)
        first_s = (
            self.before_s + prefill_s + step_s * (1 - 1 / batch) + self._before_own(batch - 1, input_tokens) * each_s
        )
        waiting_s = max(0.0, clients - batch) / batch * cycle_s
        before_first_s = waiting_s * self._waits_before_first(input_tokens, output_tokens)
        itl_s = _rest_s(cycle_s + waiting_s - before_first_s, first_s, step_s, output_tokens)
        return Estimate(batch * output_tokens / cycle_s, itl_s, first_s + before_first_s, batch)

    def open(self, in_flight: float, input_tokens: float, output_tokens: float) -> Estimate:
        """Return the estimate for Poisson arrivals with `in_flight` requests on average.

        A new request waits for half of the current step, for earlier prefills (M/D/1 queue), and for the step of its
        own prefill.
        """
        batch = max(1.0, min(in_flight, self.kv_max_concurrency))
        step_s = self.decode_s(batch, input_tokens + output_tokens / 2)
        prefill_s = self.prefill_s(input_tokens)
        each_s = self.together_s(input_tokens, batch / output_tokens)
        each_s *= self._prefills(in_flight, input_tokens, output_tokens)
        cycle_s = self.cycle_s(batch, output_tokens, step_s, prefill_s, each_s)
        busy = min(_MAX_UTILIZATION, (batch - 1) * each_s / cycle_s)
        steps_s = self.steps.engine.steps_before * cycle_s / output_tokens * (1 - 1 / batch)
        first_s = self.before_s + prefill_s + steps_s + busy * each_s / (2 * (1 - busy))
        return Estimate(
            batch * output_tokens / cycle_s, _rest_s(cycle_s, first_s, step_s, output_tokens), first_s, batch
        )

    def _prefills(self, load: float, input_tokens: float, output_tokens: float) -> float:
        """Return the prefills of a request with `load` requests in the system; above 1 if requests are preempted."""
        if self.steps.engine.reserves_answer:
            return 1.0
        pressure = min(load, self.max_batch) / max(1.0, self.kv_max_concurrency)
        return 1.0 + recomputed_tokens(output_tokens, pressure) / input_tokens

    def _waits_before_first(self, input_tokens: float, output_tokens: float) -> float:
        """Return the fraction of the waiting time before the first token; preempted requests wait later."""
        if self.steps.engine.reserves_answer or self.max_batch <= self.kv_max_concurrency:
            return 1.0
        return input_tokens / held_tokens(input_tokens, output_tokens)

    def _before_own(self, others: float, input_tokens: float) -> float:
        """Return the prefills of other requests that a request of a closed loop waits for.

        All clients start together, so some requests stay synchronized. If answers have the same length they also end
        together: their clients form convoys, which dissolve above `convoy_tokens` prompt tokens.
        """
        engine, constant = self.steps.engine, self.steps.constant
        prefills = constant("queue_start") * others
        if engine.queue:
            convoys = others * input_tokens * (1 - self.prefix_hit_share) / constant("convoy_tokens")
            prefills += constant(engine.queue) * others / float(1 + convoys**_CORNER) ** (1 / _CORNER)
        return prefills

    def decode_s(self, batch: float, context: float) -> float:
        """Return the time of one more token for each of `batch` sequences."""
        return self.steps.decode_s(batch, context) / self.tokens_per_step

    def prefill_s(self, input_tokens: float) -> float:
        """Return the prefill time of one prompt, without its cached prefix."""
        return self.steps.prefill_s(input_tokens * (1 - self.prefix_hit_share), input_tokens)

    def cycle_s(self, batch: float, output_tokens: float, step_s: float, prefill_s: float, each_s: float) -> float:
        """Return the time to the last token: own prefill (first token), decode steps, prefills of other requests."""
        return self.before_s + prefill_s + (output_tokens - 1) * step_s + (batch - 1) * each_s

    @property
    def before_s(self) -> float:
        """Time before a prefill starts."""
        return self.steps.constant(self.steps.engine.first) * 1e-3 + self.steps.launches_s

    def together_s(self, input_tokens: float, prompts: float) -> float:
        """Return the prefill time per prompt, if `prompts` prompts are prefilled together up to the engine's limit.

        Pipeline stages process different prompts concurrently.
        """
        fresh = input_tokens * (1 - self.prefix_hit_share)
        together = max(1.0, min(prompts, _PREFILL_TOKENS / fresh))
        return (
            self.steps.prefill_s(fresh * together, input_tokens) / together / self.steps.replica.pipeline_parallel_size
        )


def _rest_s(cycle_s: float, first_s: float, step_s: float, output_tokens: float) -> float:
    """Return the time between tokens after the first one, at least one decode step."""
    return max(step_s, (cycle_s - first_s) / (output_tokens - 1)) if output_tokens > 1 else step_s
