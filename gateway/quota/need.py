"""What a request may use at most, known before it is sent; and what it did use. Pure.

Money is counted in thousand-millionths of the currency (`nano`), so that sums are exact and a token has a whole price.

    bounds = most_used(Size(2048, 1, 1), asked=256, max_model_len=8192, settings=quota)
    need_of(bounds, prices)
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from ..settings.quota import Price, QuotaSettings
from .size import Size

NANO = 10**9


class Amounts(NamedTuple):  # a named tuple: made for every request, and four times as fast as a frozen dataclass
    """What is taken from limits for one request."""

    requests: int
    tokens: int
    cost: int
    """In nano."""


class Usage(NamedTuple):
    """Tokens of a request: an upper bound, or what the upstream said."""

    prompt: int
    completion: int

    def later(self, said: Usage) -> Usage:
        """What holds when an earlier event said this and a later one `said`; each counts from the beginning."""
        return Usage(max(self.prompt, said.prompt), max(self.completion, said.completion))

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    def cost(self, price: Nano) -> int:
        """What it costs, in nano."""
        return self.prompt * price.prompt + self.completion * price.completion


NOTHING = Usage(0, 0)
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class Nano(NamedTuple):
    """What a token costs, in nano."""

    prompt: int
    completion: int

    @classmethod
    def of(cls, price: Price) -> Nano:
        """A price of the settings; rounded up, so that nothing is free by rounding."""
        per_million = (price.input_price_per_million, price.output_price_per_million)
        return cls(*(math.ceil(round(each * 1000, 6)) for each in per_million))


def most_used(size: Size, *, asked: int, max_model_len: int, settings: QuotaSettings) -> tuple[Usage, ...]:
    """What a request uses at most: the longest prompt with what that leaves for the answers, and the longest answers.

    Whatever tokens cost, one of the two is the dearest: a prompt and one answer fit the context together.

    Args:
        asked: tokens of one answer at most, as the request says; 0 when it doesn't.
        max_model_len: the largest of those the route may use.
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
    """What to reserve for a request that uses one of `bounds` at most, on an upstream with one of `prices`."""
    cost = max([bound.cost(price) for price in prices for bound in bounds]) if prices else 0
    return Amounts(requests, max([bound.tokens for bound in bounds]), cost)


def usage_said(said: object) -> Usage | None:
    """The `usage` of an answer, as OpenAI's and Anthropic's surfaces have it; None when it says nothing usable."""
    if not isinstance(said, dict):
        return None
    prompt = _first(said, ("input_tokens", "prompt_tokens"))
    completion = _first(said, ("output_tokens", "completion_tokens"))
    if prompt is None:
        return None
    # Anthropic's `input_tokens` are those that no cache had; of these two OpenAI's surfaces say nothing.
    cached = [_first(said, (name,)) or 0 for name in _CACHED if name in said]
    return Usage(prompt + sum(cached), completion or 0)


def may_tell_usage(data: bytes) -> bool:
    """False for an event of a stream that tells no usage, without reading its JSON; vLLM's all say `null` at least.

    Inside a string of JSON a quote has a backslash before it, so no text is taken for the field.
    """
    told = data.count(b'"usage"')  # in half of the time that `in` takes
    return told > 1 or (told == 1 and data.find(b'"usage":null') < 0)


def usage_in(event: object) -> Usage | None:
    """The usage that an event of a stream tells, wherever its surface has it."""
    if not isinstance(event, dict):
        return None
    for place in (event, event.get("response"), event.get("message")):
        if isinstance(place, dict) and isinstance(said := place.get("usage"), dict):
            return usage_said({"prompt_tokens": 0, **said})
    return None


def _first(said: dict[str, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = said.get(name)
        if type(value) is int and 0 <= value < 1 << 40:
            return value
    return None
