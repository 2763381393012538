"""Upper bounds of a request's usage, known before it is sent, and the usage that upstreams report. Pure.

Cost is counted in nano (10^-9 of the currency), so that sums are exact and the price of a token is an integer.

    bounds = max_usage(Size(2048, 1, 1), asked=256, max_model_len=8192, settings=quota)
    need_of(bounds, prices)
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from ..settings.traffic.quota import Price, QuotaSettings
from .size import Size

NANO = 10**9


class Amounts(NamedTuple):  # created for every request; a frozen dataclass takes four times as long
    """Amounts taken from the limits for one request."""

    requests: int
    tokens: int
    cost: int
    """Nano."""


class Usage(NamedTuple):
    """Tokens of a request: an upper bound, or as the upstream reported them."""

    prompt: int
    completion: int

    def later(self, said: Usage) -> Usage:
        """Return the usage after a later event reported `said`; each event counts from the beginning."""
        return Usage(max(self.prompt, said.prompt), max(self.completion, said.completion))

    @property
    def tokens(self) -> int:
        """Sum of both."""
        return self.prompt + self.completion

    def cost(self, price: Nano) -> int:
        """Return the cost in nano."""
        return self.prompt * price.prompt + self.completion * price.completion


NOTHING = Usage(0, 0)
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class Nano(NamedTuple):
    """Price of a token in nano."""

    prompt: int
    completion: int

    @classmethod
    def of(cls, price: Price) -> Nano:
        """Return a price of the settings, rounded up so that no price becomes 0."""
        per_million = (price.input_price_per_million, price.output_price_per_million)
        return cls(*(math.ceil(round(each * 1000, 6)) for each in per_million))


def max_usage(size: Size, *, asked: int, max_model_len: int, settings: QuotaSettings) -> tuple[Usage, ...]:
    """Return upper bounds of the usage: the longest prompt with the answers that fit, and the longest answers.

    A prompt and one answer fit the context together, so at any price one of the two bounds costs most.

    Args:
        asked: most tokens of one answer that the request allows; 0 if it sets no limit.
        max_model_len: context length of the model.
    """
    prompt = math.ceil(size.prompt_bytes / settings.bytes_per_token)
    answer = min(max_model_len, asked or settings.completion_tokens or max_model_len)
    if size.prompts != 1:
        return (Usage(min(prompt, max_model_len * size.prompts or prompt), answer * size.answers),)
    prompt = min(prompt, max_model_len)
    return (
        Usage(prompt, min(answer, max_model_len - prompt) * size.answers),
        Usage(min(prompt, max_model_len - answer), answer * size.answers),
    )


def need_of(bounds: Collection[Usage], prices: Collection[Nano], *, requests: int = 1) -> Amounts:
    """Return the amounts to reserve for usage within one of `bounds`, on an upstream with one of `prices`."""
    cost = max([bound.cost(price) for price in prices for bound in bounds]) if prices else 0
    return Amounts(requests, max([bound.tokens for bound in bounds]), cost)


def reported_usage(said: object) -> Usage | None:
    """Return the usage in the `usage` object of OpenAI's or Anthropic's surfaces; None if it is invalid."""
    if not isinstance(said, dict):
        return None
    prompt = _first(said, ("input_tokens", "prompt_tokens"))
    completion = _first(said, ("output_tokens", "completion_tokens"))
    if prompt is None:
        return None
    # Anthropic's `input_tokens` exclude cached ones. OpenAI's surfaces have neither field.
    cached = [_first(said, (name,)) or 0 for name in _CACHED if name in said]
    return Usage(prompt + sum(cached), completion or 0)


def may_report_usage(data: bytes) -> bool:
    """Return False if an event of a stream reports no usage, without parsing its JSON. vLLM's events all have `null`.

    Text cannot match, because JSON escapes quotes in strings.
    """
    told = data.count(b'"usage"')  # takes half the time of `in`
    return told > 1 or (told == 1 and data.find(b'"usage":null') < 0)


def usage_in(event: object) -> Usage | None:
    """Return the usage that an event of a stream reports, for any surface; None if it reports none."""
    if not isinstance(event, dict):
        return None
    for place in (event, event.get("response"), event.get("message")):
        if isinstance(place, dict) and isinstance(said := place.get("usage"), dict):
            return reported_usage({"prompt_tokens": 0, **said})
    return None


def _first(said: dict[str, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = said.get(name)
        if type(value) is int and 0 <= value < 1 << 40:
            return value
    return None
