"""Section `monitoring`: service level objectives of pools and of the gateway."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .types import Name, SpecModel

Percent = Annotated[float, Field(ge=50, le=99.99)]
_Seconds = Annotated[float, Field(gt=0, le=2560)]


class PoolObjectives(SpecModel):
    """Latency objectives of one pool. A threshold must be a bucket edge of vLLM's histogram, because Prometheus counts
    requests at these edges only."""

    pool: Name
    """Name of one of `pools`."""
    time_to_first_token_s: _Seconds = 2.5
    """Seconds until the first token of an answer. The default is a guess."""
    inter_token_latency_s: _Seconds = 0.1
    """Seconds between two tokens of an answer. The default is a guess: 10 tokens a second."""
    objective_percent: Percent = 99.0
    """Percentage of requests, and of tokens, within these times. The default is a guess."""


class Monitoring(SpecModel):
    """Objectives of the alert rules for Prometheus, written by `sovctl monitoring`."""

    pools: list[PoolObjectives] = Field(default_factory=list)
    """Latency objectives of pools. A pool without an entry has no latency alerts."""
    gateway_objective_percent: Percent = 99.5
    """Percentage of the gateway's requests without an error of the server (HTTP status 500 and above). The default is a
    guess."""
    warn_days: Annotated[int, Field(ge=1, le=365)] = 14
    """Days before the expiry of a certificate, an exception or a waiver from which a warning is sent. The default is a
    guess."""
