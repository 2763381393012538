"""A request with the upstreams that may serve it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..policy.permissions import Permissions
from ..routing.complexity import ShadowChoice
from ..routing.demand import Demand
from .inspected import Inspected
from .request import Request
from .value import value


class Fallback(NamedTuple):
    """A fallback route that provides an upstream."""

    route: str
    """Model name of the route."""
    permissions: Permissions
    """The stricter of both policies."""


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
    fallbacks: Mapping[str, Fallback]
    """By upstream, for those of `upstreams` that a fallback route provides; they are the last ones."""

    def permissions_for(self, upstream: str) -> Permissions:
        """Return the permissions of a request that is sent to an upstream."""
        fallback = self.fallbacks.get(upstream)
        return self.request.permissions if fallback is None else fallback.permissions

    def fallback_route(self, upstream: str | None) -> str | None:
        """Return the fallback route that provides an upstream; None for those of the request's own route."""
        fallback = self.fallbacks.get(upstream) if upstream is not None else None
        return None if fallback is None else fallback.route
