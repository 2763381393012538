"""What a replica delivers under load: throughput, time between tokens, time to the first one. Pure.

Four regimes, because measurements come in four: a fixed batch, a fixed number of clients that ask again at once
(closed), requests that come on their own (open), and a queue that never ends (offline).

    serving = Serving(steps, kv_sessions=120.0)
    serving.closed(clients=64, prompt=1000, answer=500).ttft_s
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .step_time import Steps

# Tokens that the engine prefills at once when nobody waits: vLLM's `--max-num-batched-tokens` on large GPUs.
_PREFILL_TOKENS = 8192
_CORNER = 3  # how sharply a convoy stops growing; 2 to 5 foretell unseen rows alike
_FULLEST = 0.97  # of what a replica can do; beyond it the queue grows without end, and no formula holds


class Regime(StrEnum):
    """How requests arrive."""

    STATIC = "static"
    CLOSED = "closed"
    OPEN = "open"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one replica."""

    output_tokens_per_s: float
    itl_s: float
    """Between two tokens of one answer."""
    ttft_s: float | None
    """From the request to its first token; None where nobody waits for it (offline)."""
    batch: float
    """Sequences in flight."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One replica under load.

    Args:
        kv_sessions: sessions of prompt and answer that fit into its cache.
        max_batch: sequences that the engine runs at once, such as vLLM's `--max-num-seqs`.
        prefix_hit_share: of a prompt, what the prefix cache has: held, but not computed again.
        tokens_per_step: of one sequence; more than 1 with speculative decoding.
    """

    steps: Steps
    kv_sessions: float
    max_batch: float
    prefix_hit_share: float = 0.0
    tokens_per_step: float = 1.0

    def static(self, batch: float, input_tokens: float, output_tokens: float) -> Estimate:
        """A batch that begins and ends together."""
        first_s = self.steps.prefill_s(batch * input_tokens, input_tokens) + self.before_s
        step_s = self.steps.decode_s(batch, input_tokens + output_tokens / 2)
        return Estimate(batch * output_tokens / (first_s + step_s * (output_tokens - 1)), step_s, first_s, batch)

    def offline(self, input_tokens: float, output_tokens: float) -> Estimate:
        """As much as fits, all the time; prompts are prefilled several at once."""
        batch = max(1.0, min(self.kv_sessions, self.max_batch))
        each_s = self.together_s(input_tokens, batch)
        cycle_s = output_tokens * self.decode_s(batch, input_tokens + output_tokens / 2) + batch * each_s
        return Estimate(batch * output_tokens / cycle_s, cycle_s / output_tokens, None, batch)

    def closed(self, clients: float, input_tokens: float, output_tokens: float) -> Estimate:
        """`clients` that each ask again as soon as they are answered; who is not alone waits for the step under way."""
        batch = max(1.0, min(clients, self.kv_sessions, self.max_batch))
        step_s = self.decode_s(batch, input_tokens + output_tokens / 2)
        prefill_s, each_s = self.prefill_s(input_tokens), self.together_s(input_tokens, batch)
        cycle_s = self.cycle_s(batch, output_tokens, step_s, prefill_s, each_s)
        first_s = (
            self.before_s + prefill_s + step_s * (1 - 1 / batch) + self._before_own(batch - 1, input_tokens) * each_s
        )
        waiting_s = max(0.0, clients - batch) / batch * cycle_s
        itl_s = _rest_s(cycle_s, first_s, step_s, output_tokens)
        return Estimate(batch * output_tokens / cycle_s, itl_s, first_s + waiting_s, batch)

    def open(self, in_flight: float, input_tokens: float, output_tokens: float) -> Estimate:
        """Requests on their own, so many of them in flight on average: Poisson arrivals, as many as are answered.

        One that arrives among others waits for the rest of the step under way (half of it), for prefills that came
        before its own (as in a queue with one server, M/D/1), and for the step that its own is part of.
        """
        batch = max(1.0, min(in_flight, self.kv_sessions))
        step_s = self.decode_s(batch, input_tokens + output_tokens / 2)
        prefill_s, each_s = self.prefill_s(input_tokens), self.together_s(input_tokens, batch / output_tokens)
        cycle_s = self.cycle_s(batch, output_tokens, step_s, prefill_s, each_s)
        busy = min(_FULLEST, (batch - 1) * each_s / cycle_s)
        steps_s = self.steps.engine.steps_before * cycle_s / output_tokens * (1 - 1 / batch)
        first_s = self.before_s + prefill_s + steps_s + busy * each_s / (2 * (1 - busy))
        return Estimate(
            batch * output_tokens / cycle_s, _rest_s(cycle_s, first_s, step_s, output_tokens), first_s, batch
        )

    def _before_own(self, others: float, input_tokens: float) -> float:
        """Prefills of others that a request waits for where clients ask again at once.

        All ask together when they begin, and of that something stays. Answers of one length end together too, so that
        their clients ask together ever again, in convoys that come apart beyond so many tokens of prompts.
        """
        engine, constant = self.steps.engine, self.steps.constant
        prefills = constant("queue_start") * others
        if engine.queue:
            convoys = others * input_tokens * (1 - self.prefix_hit_share) / constant("convoy_tokens")
            prefills += constant(engine.queue) * others / float(1 + convoys**_CORNER) ** (1 / _CORNER)
        return prefills

    def decode_s(self, batch: float, context: float) -> float:
        """Time of one more token for each of `batch` sequences."""
        return self.steps.decode_s(batch, context) / self.tokens_per_step

    def prefill_s(self, input_tokens: float) -> float:
        """Time of one prompt alone, without what the prefix cache has of it."""
        return self.steps.prefill_s(input_tokens * (1 - self.prefix_hit_share), input_tokens)

    def cycle_s(self, batch: float, output_tokens: float, step_s: float, prefill_s: float, each_s: float) -> float:
        """From a request to its last token: its prefill, which makes the first, decode steps, and others' prefills."""
        return self.before_s + prefill_s + (output_tokens - 1) * step_s + (batch - 1) * each_s

    @property
    def before_s(self) -> float:
        """What passes before a prefill begins."""
        engine, constant = self.steps.engine, self.steps.constant
        launches_s = constant(engine.launch) * self.steps.software_s if engine.launch else 0.0
        return constant(engine.first) * 1e-3 + launches_s

    def together_s(self, input_tokens: float, prompts: float) -> float:
        """Time that each of `prompts` prompts adds, prefilled together, as many as the engine takes at once.

        The stages of a pipeline work on different prompts at the same time.
        """
        fresh = input_tokens * (1 - self.prefix_hit_share)
        together = max(1.0, min(prompts, _PREFILL_TOKENS / fresh))
        return (
            self.steps.prefill_s(fresh * together, input_tokens) / together / self.steps.replica.pipeline_parallel_size
        )


def _rest_s(cycle_s: float, first_s: float, step_s: float, output_tokens: float) -> float:
    """Time between tokens: what a request's cycle leaves after its first token, and never less than a decode step."""
    return max(step_s, (cycle_s - first_s) / (output_tokens - 1)) if output_tokens > 1 else step_s
