"""Lengths of prompts and answers in tokens, as lognormal distributions. Pure.

Lengths(mean=1500, p95=3750).p99
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, log, sqrt

Z95, Z99 = 1.6449, 2.3263  # standard normal quantiles
MAX_P95_RATIO = 3.8
"""Maximum of 95th percentile / mean. For a lognormal distribution it is exp(1.645^2 / 2) = 3.87."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lognormal distribution of the tokens of prompts or answers."""

    mean: float
    p95: float

    @property
    def p99(self) -> float:
        """99th percentile, in tokens."""
        sigma = self._sigma
        return self.mean * exp(Z99 * sigma - sigma * sigma / 2)

    def share_above(self, tokens: float) -> float:
        """Return the fraction of lengths above `tokens`, from 0 to 1."""
        sigma = self._sigma
        if tokens <= 0 or not sigma:
            return float(self.mean > tokens)
        return erfc((log(tokens / self.mean) + sigma * sigma / 2) / sigma / sqrt(2)) / 2

    @property
    def held_mean(self) -> float:
        """Mean tokens that a running request has generated, at a random time: half of the mean for equal lengths.

        Long answers run longer, so that they count more: E[n^2] / (2 E[n]).
        """
        return self.mean * exp(self._sigma**2) / 2

    @property
    def _sigma(self) -> float:
        """Standard deviation of the logarithm of the length."""
        ratio = min(max(self.p95 / self.mean, 1.0), MAX_P95_RATIO)
        # The smaller root of p95 / mean = exp(z sigma - sigma^2 / 2).
        return Z95 - sqrt(max(0.0, Z95 * Z95 - 2 * log(ratio)))
