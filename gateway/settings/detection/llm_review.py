"""Settings of the LLM review: a chat model in a pool lists names in requests that could be sent to a cloud."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..base.model import Name, SettingsModel

LLM_REVIEW_RULE = "LLM_REVIEW"
"""Rule of its findings."""


class LlmReviewSettings(SettingsModel):
    """Pool, condition and limits of the review."""

    upstream: Name
    """Pool with chat completions. Clouds are not allowed, because the model receives raw text."""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model name in the pool. Default: the pool's model."""
    when: Literal["uncertain", "always"] = "uncertain"
    """`uncertain`: only texts with a word that could be an undetected name; see
    `gateway/model_finders/uncertain_names.py`."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Seconds for one request. After the timeout, the request is processed on-prem. A local model takes 0.2 to 10 s
    (community, read 2026-11)."""
    max_chars: Annotated[int, Field(ge=100, le=10_000_000)] = 100_000
    """Maximum characters of a request; longer requests are processed on-prem."""
    max_in_flight: Annotated[int, Field(ge=1, le=1000)] = 32
    """Concurrent reviews per worker. A request that cannot start its review in time is processed on-prem."""
