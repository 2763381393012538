"""A request whose quota is reserved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..quota.reservation import Reservation
from .request import Request
from .value import value


@value
class Admitted:
    """A request within the limits of its principal. Costs are in nano (10^-9 of the currency)."""

    request: Request
    reservation: Reservation
    max_cost_nano: int | None
    """Cap of the route; None without one."""
    cost_nano: Mapping[str, int] | None
    """Highest cost by upstream; None if neither limits nor a cap apply."""
    budget_nano: int | None
    """Cost reserved from the principal's budgets; None without limits."""
    body: dict[str, Any]
    """The request's body, with `stream_options.include_usage` if the gateway needs the usage. Not to be changed."""
    hides_usage: bool
    """Whether the gateway added `include_usage`, so the usage event is not passed to the client."""
