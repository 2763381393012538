"""Whether a request may be sent at all, as `service` asks it: a reservation, or the refusal that the client gets.

await admission.reserve(exchange)
headers = admission.headers(exchange.reservation)
"""

from __future__ import annotations

import time
from typing import Any

from ..access.principal import Principal
from ..domain.errors import Code, Headers, Refused
from ..exchange.request import Exchange
from ..quota.headers import limit_headers, refusal_headers
from ..quota.need import Nano, Need
from ..quota.quota import Quota
from ..quota.reservation import LimitReached, Reservation
from ..quota.size import NO_SIZE, Size, size_of
from ..quota.store import QuotaUnavailable
from ..quota.tariff import Tariff
from ..settings import GatewaySettings
from ..settings.surface import SurfaceName
from ..telemetry import log
from ..upstream import HEDGED

_WITH_USAGE_ON_DEMAND = frozenset({SurfaceName.CHAT, SurfaceName.CHAT_BATCH, SurfaceName.COMPLETIONS})
"""Surfaces whose streams say what was used only if asked to."""


class Admission:
    """Admits requests under one set of settings.

    Args:
        quota: of this process; it outlives the settings.
    """

    def __init__(self, settings: GatewaySettings, quota: Quota) -> None:
        self._quota = quota
        self._tariff = Tariff(settings)
        self._hedges = settings.routing.hedge

    async def reserve(self, exchange: Exchange) -> None:
        """Reserve what a request may use: money for the dearest upstream that cap and budgets allow.

        What each may cost is in `exchange.costs` afterwards, what is reserved in `exchange.budget`; `routing.plan`
        leaves out what costs more.

        Raises:
            Refused: a limit is reached, or nobody can say.
        """
        model, tariff = exchange.model, self._tariff
        is_limited, exchange.max_cost = self._quota.is_limited(exchange.client), tariff.cap(model)
        if not is_limited and exchange.max_cost is None:
            return
        size, asked = self._size(exchange)
        costs = exchange.costs = tariff.costs(model, size, asked=asked)
        if not is_limited:
            return
        tokens, cap = tariff.tokens(model, size, asked=asked), exchange.max_cost
        amounts = sorted({cost for cost in costs.values() if cap is None or cost <= cap}) or [0]
        while True:
            exchange.budget = amounts.pop()
            try:
                exchange.reservation = await self._take(exchange.client, Need(1, tokens, exchange.budget))
                break
            except LimitReached as reached:
                if not (reached.is_cost and amounts):
                    raise _refused(reached) from None
        if exchange.reservation.accounts and exchange.is_stream:
            exchange.hides_usage = asks_for_usage(exchange.body, exchange.surface.family)

    async def reserve_again(self, exchange: Exchange, upstream: str) -> None:
        """Reserve for one more upstream, since the one before may have used what was reserved.

        Raises:
            Refused: a limit is reached, or nobody can say.
        """
        if not self._quota.is_limited(exchange.client):
            return
        size, asked = self._size(exchange)
        tokens = self._tariff.tokens(exchange.model, size, asked=asked)
        cost = exchange.costs.get(upstream, 0) if exchange.costs is not None else 0
        try:
            exchange.reservation = await self._take(exchange.client, Need(0, tokens, cost))
        except LimitReached as reached:
            raise _refused(reached) from None

    async def _take(self, caller: Principal, need: Need) -> Reservation:
        try:
            return self._quota.take(caller, need) or await self._quota.reserve(caller, need)
        except QuotaUnavailable as error:
            log.event("no lease to be had", level=40, error=error)
            raise Refused(Code.LIMITS_UNAVAILABLE) from None

    def _size(self, exchange: Exchange) -> tuple[Size, int]:
        body, surface = exchange.body, exchange.surface
        if not surface.uses_tokens:
            return NO_SIZE, 0
        size = size_of(body, surface.family, body_bytes=len(exchange.raw))
        if self._hedges and surface.family in HEDGED:  # two servers may read it
            size = size._replace(prompt_bytes=2 * size.prompt_bytes)
        return size, surface.max_answer_tokens(body)

    def headers(self, reservation: Reservation) -> Headers:
        """What the client is told about its limits."""
        return limit_headers(reservation.accounts, time.time()) if reservation.accounts else []

    def price(self, upstream: str) -> Nano | None:
        """What an upstream charges."""
        return self._tariff.price(upstream)


def asks_for_usage(body: dict[str, Any], family: SurfaceName) -> bool:
    """Have a stream say what was used, where only a stream that is asked to does; False where nothing was changed."""
    if family not in _WITH_USAGE_ON_DEMAND:
        return False
    options = body.get("stream_options")
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return False
    body["stream_options"] = {**options, "include_usage": True}
    return True


def _refused(reached: LimitReached) -> Refused:
    return Refused(_code(reached), headers=refusal_headers(reached, time.time()))


def _code(reached: LimitReached) -> Code:
    if reached.retry_after_s is None:
        return Code.REQUEST_EXCEEDS_LIMIT
    return Code.INSUFFICIENT_QUOTA if reached.is_budget else Code.RATE_LIMIT_EXCEEDED
