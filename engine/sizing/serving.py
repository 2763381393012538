"""What a replica delivers under load: throughput, time between tokens, time to the first one. Pure.

Four regimes, because measurements come in four: a fixed batch, a fixed number of clients that ask again at once
(closed), requests that come on their own (open), and a queue that never ends (offline).

    serving = Serving(steps, kv_sessions=120.0)
    serving.closed(clients=64, prompt=1000, answer=500).ttft_s
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sovctl.engine.sizing.step import Steps

# Tokens that the engine prefills at once when nobody waits: vLLM's `--max-num-batched-tokens` on large GPUs.
_PREFILL_TOKENS = 8192
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

    def static(self, batch: float, prompt: float, answer: float) -> Estimate:
        """A batch that begins and ends together."""
        first_s = self.steps.prefill_s(batch * prompt, prompt) + self._fixed_s
        step_s = self.steps.decode_s(batch, prompt + answer / 2)
        return Estimate(batch * answer / (first_s + step_s * (answer - 1)), step_s, first_s, batch)

    def offline(self, prompt: float, answer: float) -> Estimate:
        """As much as fits, all the time; prompts are prefilled several at once."""
        batch = max(1.0, min(self.kv_sessions, self.max_batch))
        together = max(1.0, _PREFILL_TOKENS / prompt)
        prefill_s = self.steps.prefill_s(prompt * together, prompt) / together
        return self._cycle(batch, prompt, answer, prefill_s, None)

    def closed(self, clients: float, prompt: float, answer: float) -> Estimate:
        """`clients` that each ask again as soon as they are answered."""
        batch = max(1.0, min(clients, self.kv_sessions, self.max_batch))
        prefill_s = self.prefill_s(prompt)
        cycle = self._cycle(batch, prompt, answer, prefill_s, None)
        ttft_s = prefill_s + cycle_step_s(cycle, prefill_s, answer) + self._fixed_s
        ttft_s += self.steps.constant("queue_closed") * (batch - 1) * prefill_s
        if clients > batch:
            ttft_s += (clients - batch) / batch * cycle.itl_s * answer
        return Estimate(cycle.output_tokens_per_s, cycle.itl_s, ttft_s, batch)

    def open(self, in_flight: float, prompt: float, answer: float) -> Estimate:
        """Requests on their own, so many of them in flight on average."""
        batch = max(1.0, min(in_flight, self.kv_sessions))
        prefill_s = self.prefill_s(prompt)
        cycle = self._cycle(batch, prompt, answer, prefill_s, None)
        busy = min(_FULLEST, batch * prefill_s / (cycle.itl_s * answer))
        ttft_s = prefill_s + 1.5 * cycle.itl_s + busy * prefill_s / (2 * (1 - busy)) + self._fixed_s
        return Estimate(cycle.output_tokens_per_s, cycle.itl_s, ttft_s, batch)

    def decode_s(self, batch: float, context: float) -> float:
        """Time of one more token for each of `batch` sequences."""
        return self.steps.decode_s(batch, context) / self.tokens_per_step

    def prefill_s(self, prompt: float) -> float:
        """Time of one prompt alone, without what the prefix cache has of it."""
        return self.steps.prefill_s(prompt * (1 - self.prefix_hit_share), prompt)

    @property
    def _fixed_s(self) -> float:
        return self.steps.constant("first_ms") * 1e-3

    def _cycle(self, batch: float, prompt: float, answer: float, prefill_s: float, ttft_s: float | None) -> Estimate:
        """`batch` answers from the first token to the last, each prefill between two steps of the others."""
        cycle_s = answer * self.decode_s(batch, prompt + answer / 2) + batch * prefill_s
        return Estimate(batch * answer / cycle_s, cycle_s / answer, ttft_s, batch)


def cycle_step_s(cycle: Estimate, prefill_s: float, answer: float) -> float:
    """One decode step of a cycle, without the prefills between."""
    return cycle.itl_s - cycle.batch * prefill_s / answer
