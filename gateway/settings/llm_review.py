"""A second look for names by a model of one of the site's own pools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import Name, SettingsModel

LLM_REVIEW_RULE = "LLM_REVIEW"
"""The rule that its findings carry."""


class LlmReviewSettings(SettingsModel):
    """Who looks, and when."""

    upstream: Name
    """A pool that serves chat completions; never a cloud, for it gets the text as it is."""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """What the pool calls the model that looks; the pool's own when absent."""
    when: Literal["uncertain", "always"] = "uncertain"
    """`uncertain`: about texts with a word that could be a name and that nobody found, see
    `gateway/model_finders/uncertain_names.py`."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """For one request; a look takes a local model 0.2 to 10 s (community, read 2026-11). What takes longer stays
    on-prem."""
    max_chars: Annotated[int, Field(ge=100, le=10_000_000)] = 100_000
    """Of one request; a longer one stays on-prem."""
    max_in_flight: Annotated[int, Field(ge=1, le=1000)] = 32
    """Questions of one worker to the pool at a time; what finds no place in time stays on-prem."""
