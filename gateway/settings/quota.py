"""How much a caller and a team may use, and what a token costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from .model import SettingsModel

Count = Annotated[int, Field(ge=1, le=10**15)]
Money = Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)]


class CallerLimits(SettingsModel):
    """Limits of one client, one person or one team; what is absent is unlimited. They hold over all gateways that share
    a store. Days and months are UTC's."""

    requests_per_minute: Count | None = None
    """In any 60 seconds, not on average."""
    tokens_per_minute: Count | None = None
    """Of prompts and answers, in any 60 seconds."""
    concurrent_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    tokens_per_day: Count | None = None
    tokens_per_month: Count | None = None
    cost_per_day: Money | None = None
    """In `quota.prices.currency`."""
    cost_per_month: Money | None = None

    @property
    def has_cost(self) -> bool:
        """True when prices are needed to hold them."""
        return self.cost_per_day is not None or self.cost_per_month is not None

    @property
    def is_unlimited(self) -> bool:
        """True when nothing is limited."""
        return not self.model_dump(exclude_none=True)


class Price(SettingsModel):
    """What an upstream charges, or what the site charges its teams for a pool of its own."""

    input_price_per_million: Annotated[float, Field(ge=0, le=10**6, allow_inf_nan=False)]
    """Per 1,000,000 tokens, to a thousandth."""
    output_price_per_million: Annotated[float, Field(ge=0, le=10**6, allow_inf_nan=False)]


class PriceList(SettingsModel):
    """The site's own figures; sovctl knows no prices."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    """ISO 4217, such as EUR."""
    upstreams: Annotated[dict[str, Price], Field(min_length=1)]
    """By name of the pool or cloud; all of them, so that no request goes uncounted."""


class QuotaSettings(SettingsModel):
    """Where use is counted, and what is counted by default."""

    path: Path | None = None
    """SQLite file that all workers of this host share; made when absent. Without it use is counted in the vault's
    PostgreSQL, for all hosts. One of the two is needed as soon as anything is limited."""
    default_limits: CallerLimits = CallerLimits()
    """For every client and every person that has no limits of its own."""
    prices: PriceList | None = None
    bytes_per_token: Annotated[float, Field(ge=1, le=8)] = 1.0
    """What is reserved for a prompt until the answer says what it was: its bytes divided by this. 1 is a proof (a token
    of a byte-level vocabulary is a byte at least); English prose has about 4, so more lets through more at a time."""
    completion_tokens: Annotated[int, Field(ge=1, le=16_777_216)] | None = None
    """Reserved for an answer whose request names no maximum; all that the model's context leaves when absent."""

    def problem_with(self, limits: CallerLimits, *, has_database: bool) -> str | None:
        """Why `limits` can't be held with these settings; None when they can.

        Args:
            has_database: use can be counted in PostgreSQL.
        """
        if self.path is None and not has_database and not limits.is_unlimited:
            return "expected quota.path or vault.postgresql where something is limited, got neither"
        if self.prices is None and limits.has_cost:
            return "expected quota.prices where cost is limited, got none"
        return None
