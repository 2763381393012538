"""A request with the upstreams that may serve it."""

from __future__ import annotations

from ..routing.complexity import ShadowChoice
from ..routing.demand import Demand
from .inspected import Inspected
from .request import Request
from .value import value


@value
class Planned:
    """A request and the upstreams to try."""

    inspected: Inspected
    request: Request
    """The request as its client sent it."""
    demand: Demand
    upstreams: tuple[str, ...]
    """Names, best first; empty if no upstream may serve the request."""
    reasons: tuple[str, ...]
    """Reason codes of policy, then of routing."""
    is_too_expensive: bool
    """Whether `upstreams` is empty only because of costs."""
    shadow: ShadowChoice | None
    """Choice of the shadow heuristic; None without one, or if `upstreams` is empty."""
