"""Whether a request may be sent at all, as `service` asks it: a reservation, or the refusal that the client gets.

await admission.reserve(exchange)
headers = admission.headers(exchange.reservation)
"""

from __future__ import annotations

import time
from typing import Any

from sovctl.gateway import log
from sovctl.gateway.errors import Code, Headers, Refused
from sovctl.gateway.exchange import Exchange
from sovctl.gateway.quota.headers import limit_headers, refusal_headers
from sovctl.gateway.quota.need import Nano
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.quota.reservation import UNLIMITED, LimitReached, Reservation
from sovctl.gateway.quota.size import size_of
from sovctl.gateway.quota.store import QuotaUnavailable
from sovctl.gateway.quota.tariff import Tariff
from sovctl.gateway.settings import GatewaySettings
from sovctl.gateway.settings.surface import SurfaceName

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

    async def reserve(self, exchange: Exchange, *, is_again: bool = False) -> None:
        """Reserve what a request may use, as `exchange.reservation`.

        Args:
            is_again: another upstream gets it; it is still the same request.

        Raises:
            Refused: a limit is reached, or nobody can say.
        """
        quota, caller = self._quota, exchange.client
        if not quota.is_limited(caller):
            exchange.reservation = UNLIMITED
            return
        body, surface = exchange.body, exchange.surface
        size = size_of(body, surface.family, body_bytes=len(exchange.raw))
        asked = surface.max_answer_tokens(body)
        need = self._tariff.need(exchange.route.model, size, asked=asked, requests=0 if is_again else 1)
        try:
            exchange.reservation = quota.take(caller, need) or await quota.reserve(caller, need)
        except LimitReached as reached:
            raise Refused(_code(reached), headers=refusal_headers(reached, time.time())) from None
        except QuotaUnavailable as error:
            log.event("no lease to be had", level=40, error=error)
            raise Refused(Code.LIMITS_UNAVAILABLE) from None
        if exchange.reservation.accounts and exchange.is_stream and not is_again:
            exchange.hides_usage = asks_for_usage(body, surface.family)

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


def _code(reached: LimitReached) -> Code:
    if reached.retry_after_s is None:
        return Code.REQUEST_EXCEEDS_LIMIT
    return Code.INSUFFICIENT_QUOTA if reached.is_budget else Code.RATE_LIMIT_EXCEEDED
