"""What a request may cost, by the model it asks for: the settings of routes, upstreams and prices, looked up once.

tariff = Tariff(settings)
tariff.need("assistant", Size(2048, 1, 1), asked=256)
"""

from __future__ import annotations

from sovctl.gateway.quota.need import Nano, Need, most_used, need_of
from sovctl.gateway.quota.size import Size
from sovctl.gateway.settings import GatewaySettings


class Tariff:
    """Prices and context lengths of every route."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings.quota
        listed = settings.quota.prices.upstreams if settings.quota.prices else {}
        self._prices = prices = {name: Nano.of(price) for name, price in listed.items()}
        self._routes: dict[str, tuple[tuple[Nano, ...], int]] = {}
        for route in settings.routes:
            names = route.upstreams
            self._routes[route.model] = (
                tuple(prices[name] for name in names if name in prices),
                max(settings.upstream(name).max_model_len for name in names),
            )

    def need(self, model: str, size: Size, *, asked: int, requests: int = 1) -> Need:
        """What to reserve for a request, wherever its route leads it."""
        prices, max_model_len = self._routes[model]
        bounds = most_used(size, asked=asked, max_model_len=max_model_len, settings=self._settings)
        return need_of(bounds, prices, requests=requests)

    def price(self, upstream: str | None) -> Nano | None:
        """What an upstream charges; None when nothing says."""
        return self._prices.get(upstream) if upstream is not None else None
