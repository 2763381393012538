"""Settings of limits and prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from ..base.model import SettingsModel

Count = Annotated[int, Field(ge=1, le=10**15)]
Money = Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)]


class CallerLimits(SettingsModel):
    """Limits of one client, person or team, over all gateways with a common store. Absent limits do not apply. Days and
    months are in UTC."""

    requests_per_minute: Count | None = None
    """Requests in any 60 seconds."""
    tokens_per_minute: Count | None = None
    """Tokens of prompts and answers in any 60 seconds."""
    concurrent_requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    tokens_per_day: Count | None = None
    tokens_per_month: Count | None = None
    cost_per_day: Money | None = None
    """Cost per day in `quota.prices.currency`."""
    cost_per_month: Money | None = None

    @property
    def has_cost(self) -> bool:
        """Whether a limit of cost is set, which requires prices."""
        return self.cost_per_day is not None or self.cost_per_month is not None

    @property
    def is_unlimited(self) -> bool:
        """Whether no limit is set."""
        return not self.model_dump(exclude_none=True)


class Price(SettingsModel):
    """Price of a cloud, or the internal price of a pool."""

    input_price_per_million: Annotated[float, Field(ge=0, le=10**6, allow_inf_nan=False)]
    """Price of 1,000,000 prompt tokens, rounded to 0.001."""
    output_price_per_million: Annotated[float, Field(ge=0, le=10**6, allow_inf_nan=False)]


class PriceList(SettingsModel):
    """Prices of tokens; sovctl ships none."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    """Currency of all prices and cost limits, ISO 4217, such as EUR."""
    upstreams: Annotated[dict[str, Price], Field(min_length=1)]
    """Price by name of the pool or cloud; required for every upstream."""


class QuotaSettings(SettingsModel):
    """Store of usage, and default limits."""

    path: Path | None = None
    """SQLite file that all workers of this host share; created if absent. Default: the vault's PostgreSQL database,
    which all hosts share. Limits require one of the two."""
    default_limits: CallerLimits = CallerLimits()
    """Limits of every client and person without limits of their own."""
    prices: PriceList | None = None
    usage_days: Annotated[int, Field(ge=0, le=4000)] = 400
    """Days for which used tokens and cost are kept, by client, model, upstream and day, for the usage page. 0: they are
    not counted. Requires `path` or the vault's PostgreSQL database."""
    bytes_per_token: Annotated[float, Field(ge=1, le=8)] = 1.0
    """Bytes per reserved prompt token. Tokens are reserved before the answer reports the actual number. 1 is an upper
    bound for byte-level vocabularies; English text has about 4 bytes per token. Higher values admit more requests at a
    time."""
    completion_tokens: Annotated[int, Field(ge=1, le=16_777_216)] | None = None
    """Tokens reserved for an answer without a requested maximum. Default: the rest of the model's context."""

    def problem_with(self, limits: CallerLimits, *, has_database: bool) -> str | None:
        """Return why these settings cannot enforce `limits`; None if they can.

        Args:
            has_database: whether usage can be stored in PostgreSQL.
        """
        if self.path is None and not has_database and not limits.is_unlimited:
            return "expected quota.path or vault.postgresql because limits are set, got neither"
        if self.prices is None and limits.has_cost:
            return "expected quota.prices because cost is limited, got none"
        return None
