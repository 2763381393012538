"""Upper bounds of tokens and cost by model, from the settings of routes, upstreams and prices.

tariff = Tariff(settings)
size = Size(2048, 1, 1)
tariff.tokens("assistant", size, asked=256)      # to reserve, for any upstream of the route
tariff.costs("assistant", size, asked=256)       # by upstream, in nano: {"chat": 61_440, "sovereign-cloud": 4_000_000}
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..settings import GatewaySettings
from .need import NANO, Nano, max_usage, need_of
from .size import Size


class Tariff:
    """Prices, context lengths and caps of every route."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings.quota
        listed = settings.quota.prices.upstreams if settings.quota.prices else {}
        self._prices = prices = {name: Nano.of(price) for name, price in listed.items()}
        lengths = {upstream.name: upstream.max_model_len for upstream in settings.upstreams}
        reachable = {route.model: settings.reachable(route) for route in settings.routes}
        self._longest = {model: max(lengths[name] for name in names) for model, names in reachable.items()}
        self._priced: dict[str, dict[int, list[tuple[str, Nano]]]] = {}
        for route in settings.routes:
            by_length = self._priced[route.model] = {}
            for name in reachable[route.model]:
                if name in prices:
                    by_length.setdefault(lengths[name], []).append((name, prices[name]))
        self._caps = {route.model: nano_of(route.max_cost_per_request) for route in settings.routes}
        self._capped = {
            route.model
            for route in settings.routes
            if any(self._caps[model] is not None for model in (route.model, *route.fallback_routes))
        }

    def tokens(self, model: str, size: Size, *, asked: int) -> int:
        """Return the most tokens that a request can use, on the model with the longest context that the route
        reaches."""
        bounds = max_usage(size, asked=asked, max_model_len=self._longest[model], settings=self._settings)
        return need_of(bounds, ()).tokens

    def costs(self, model: str, size: Size, *, asked: int) -> Mapping[str, int]:
        """Return the highest cost of a request by upstream of its route and fallback routes, in nano; empty without
        prices."""
        costs = {}
        for max_model_len, priced in self._priced[model].items():
            bounds = max_usage(size, asked=asked, max_model_len=max_model_len, settings=self._settings)
            for name, price in priced:
                costs[name] = max([bound.cost(price) for bound in bounds])
        return costs

    def cap(self, model: str) -> int | None:
        """Return the cap of a route's requests in nano; None without one."""
        return self._caps[model]

    def is_capped(self, model: str) -> bool:
        """Return whether a route or one of its fallback routes has a cap."""
        return model in self._capped

    def price(self, upstream: str | None) -> Nano | None:
        """Return the price of an upstream; None without one."""
        return self._prices.get(upstream) if upstream is not None else None


def nano_of(money: float | None) -> int | None:
    """Return an amount of money in nano, rounded down; None for none."""
    return None if money is None else math.floor(money * NANO)
