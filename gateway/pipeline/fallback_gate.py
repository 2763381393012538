"""Decides when a request goes on from the upstreams of its route to those of a fallback route. Pure.

gate = FallbackGate(planned)
gate.admits("chat")                                   # True: an upstream of the route itself
gate.rejected(Rejection.TOO_LONG)
gate.admits("long-context")                           # True if `fallback_on` of the route contains `context`
"""

from __future__ import annotations

from ..domain.errors import Rejection
from ..exchange.planned import Planned
from ..settings import FallbackCause

_OF_REJECTIONS = {Rejection.TOO_LONG: FallbackCause.CONTEXT, Rejection.FIREWALL: FallbackCause.BLOCKED}


class FallbackGate:
    """Causes for which the upstreams of one request did not serve it."""

    __slots__ = ("_planned", "causes")

    def __init__(self, planned: Planned) -> None:
        self._planned = planned
        is_alone = bool(planned.fallbacks) and len(planned.fallbacks) == len(planned.upstreams)
        self.causes: set[FallbackCause] = {FallbackCause.UNAVAILABLE} if is_alone else set()
        """`unavailable` from the beginning if no upstream of the route itself is usable."""

    def rejected(self, why: Rejection) -> None:
        """Note that an upstream rejected the request."""
        if (cause := _OF_REJECTIONS.get(why)) is not None:
            self.causes.add(cause)

    def admits(self, upstream: str) -> bool:
        """Return whether an upstream may be asked after those before it."""
        planned = self._planned
        return upstream not in planned.fallbacks or not self.causes.isdisjoint(planned.request.route.fallback_on)

    def is_last(self, number: int, cause: FallbackCause) -> bool:
        """Return whether no upstream is asked after this one if it does not serve the request for this cause.

        Args:
            number: index of the upstream in the plan.
        """
        planned = self._planned
        following = planned.upstreams[number + 1 : number + 2]
        if not following:
            return True
        return following[0] in planned.fallbacks and not (
            cause in planned.request.route.fallback_on or self.admits(following[0])
        )
