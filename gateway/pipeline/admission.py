"""Reserves quota for a request, or refuses it.

admitted = await admission.reserve(request)
headers = admission.headers(admitted.reservation)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..access.principal import Principal
from ..domain.errors import Code, Headers, Refused
from ..exchange.admitted import Admitted
from ..exchange.request import Request
from ..quota.headers import limit_headers, refusal_headers
from ..quota.need import Amounts, Nano
from ..quota.quota import Quota
from ..quota.reservation import UNLIMITED, LimitReached, Reservation
from ..quota.size import NO_SIZE, Size, size_of
from ..quota.store import QuotaUnavailable
from ..quota.tariff import Tariff
from ..quota.usage import UsageCounts
from ..settings import GatewaySettings
from ..settings.base.surface import SurfaceName
from ..telemetry import log
from ..upstream import HEDGED

_WITH_USAGE_ON_DEMAND = frozenset({SurfaceName.CHAT, SurfaceName.CHAT_BATCH, SurfaceName.COMPLETIONS})
"""Surfaces whose streams report usage only if the request asks for it."""


class Admission:
    """Admits requests under one set of settings.

    Args:
        quota: the limits of this process; they outlive the settings.
    """

    def __init__(self, settings: GatewaySettings, quota: Quota) -> None:
        self._quota = quota
        self._tariff = Tariff(settings)
        self._hedges = settings.routing.hedge

    async def reserve(self, request: Request) -> Admitted:
        """Reserve quota: tokens, and the cost of the most expensive upstream that the cap and the budgets allow.

        `routing.plan` omits upstreams that cost more than what is reserved.

        Raises:
            Refused: a limit is reached, or the store of limits is unavailable.
        """
        tariff, model = self._tariff, request.route.model
        is_limited, cap = self._quota.is_limited(request.principal), tariff.cap(model)
        body = request.body
        if not (is_limited or tariff.is_capped(model)):
            return self._unlimited(request, None, None)
        size, asked = self._size(request)
        costs = tariff.costs(model, size, asked=asked)
        if not is_limited:
            return self._unlimited(request, cap, costs)
        tokens = tariff.tokens(model, size, asked=asked)
        amounts = sorted({cost for cost in costs.values() if cap is None or cost <= cap}) or [0]
        while True:
            budget = amounts.pop()
            try:
                reservation = await self._take(request.principal, Amounts(1, tokens, budget))
                break
            except LimitReached as reached:
                if not (reached.is_cost and amounts):
                    raise _refused(reached) from None
        hides_usage = False
        if reservation.accounts and request.is_stream:
            body = with_usage(body, request.surface.family)
            hides_usage = body is not request.body
        return Admitted(request, reservation, cap, costs, budget, body, hides_usage)

    def _unlimited(self, request: Request, cap: int | None, costs: Mapping[str, int] | None) -> Admitted:
        body = request.body
        if request.is_stream and self._quota.usage is not None:
            body = with_usage(body, request.surface.family)
        return Admitted(request, UNLIMITED, cap, costs, None, body, body is not request.body)

    async def reserve_again(self, admitted: Admitted, upstream: str) -> Reservation:
        """Reserve for one more upstream, because the one before may have used what was reserved.

        Raises:
            Refused: a limit is reached, or the store of limits is unavailable.
        """
        request, costs = admitted.request, admitted.cost_nano
        if not self._quota.is_limited(request.principal):
            return admitted.reservation
        size, asked = self._size(request)
        tokens = self._tariff.tokens(request.route.model, size, asked=asked)
        cost = costs.get(upstream, 0) if costs is not None else 0
        try:
            return await self._take(request.principal, Amounts(0, tokens, cost))
        except LimitReached as reached:
            raise _refused(reached) from None

    async def _take(self, principal: Principal, need: Amounts) -> Reservation:
        try:
            return self._quota.take(principal, need) or await self._quota.reserve(principal, need)
        except QuotaUnavailable as error:
            log.event("no lease available", level=40, error=error)
            raise Refused(Code.LIMITS_UNAVAILABLE) from None

    def _size(self, request: Request) -> tuple[Size, int]:
        """Return the size of a request, and the most tokens that the client asked for in an answer."""
        body, surface = request.body, request.surface
        if not surface.uses_tokens:
            return NO_SIZE, 0
        size = size_of(body, surface.family, body_bytes=len(request.raw_body))
        if self._hedges and surface.family in HEDGED:  # two servers may read the prompt
            size = size._replace(prompt_bytes=2 * size.prompt_bytes)
        return size, surface.max_answer_tokens(body)

    def headers(self, reservation: Reservation) -> Headers:
        """Return the response headers about the client's limits."""
        return limit_headers(reservation.accounts, time.time()) if reservation.accounts else []

    @property
    def usage(self) -> UsageCounts | None:
        """Counts for the usage page; None without a store, or if they are disabled."""
        return self._quota.usage

    def price(self, upstream: str) -> Nano | None:
        """Return the price of an upstream; None without one."""
        return self._tariff.price(upstream)


def with_usage(body: dict[str, Any], family: SurfaceName) -> dict[str, Any]:
    """Return a body whose stream reports its usage; `body` itself if it does so without a change."""
    if family not in _WITH_USAGE_ON_DEMAND:
        return body
    options = body.get("stream_options")
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return body
    return {**body, "stream_options": {**options, "include_usage": True}}


def _refused(reached: LimitReached) -> Refused:
    return Refused(_code(reached), headers=refusal_headers(reached, time.time()))


def _code(reached: LimitReached) -> Code:
    if reached.retry_after_s is None:
        return Code.REQUEST_EXCEEDS_LIMIT
    return Code.INSUFFICIENT_QUOTA if reached.is_budget else Code.RATE_LIMIT_EXCEEDED
