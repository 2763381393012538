"""Charges a request's reservation with what its upstreams used."""

from __future__ import annotations

from collections.abc import Callable

from ..quota.need import NOTHING, Nano, Usage
from ..quota.reservation import Reservation
from ..upstream import Attempts

Used = Callable[[Usage | None, int], None]
"""Takes the usage of an answer, None if it is unknown, and its cost in nano."""


class Charge:
    """Usage under the current reservation of a request. Another upstream gets a reservation of its own if the one
    before may have used what was reserved.

    Args:
        tries: connections of the request; each hedged one may have used as much as the other.
    """

    __slots__ = ("_counts", "_price", "_tries", "_used", "reservation", "usage")

    def __init__(self, reservation: Reservation, tries: Attempts) -> None:
        self.reservation = reservation
        self.usage: Usage | None = NOTHING
        """Tokens used so far; None if an upstream was asked and has not reported its usage."""
        self._price: Nano | None = None
        self._used: Used | None = None
        self._counts = False
        self._tries = tries

    @property
    def needs_usage(self) -> bool:
        """Whether the usage that the answer reports is read."""
        return self._counts or bool(self.reservation.accounts)

    def begin(self, price: Nano | None, used: Used | None = None, *, counts: bool = False) -> None:
        """Note that an upstream is about to be asked.

        Args:
            price: of the upstream; None without one.
            used: receives the usage at the end of the answer, unless the upstream used nothing.
            counts: whether `used` needs the usage.
        """
        self._tries.hedges = 0
        self.usage, self._price, self._used, self._counts = None, price, used, counts

    def commit(self) -> None:
        """Commit the reservation with the usage. Idempotent."""
        usage = self.usage
        if usage is not None and (hedges := self._tries.hedges):
            usage = Usage(usage.prompt * (1 + hedges), usage.completion * (1 + hedges))
        used, self._used = self._used, None
        if used is not None and self.usage is not NOTHING:
            used(usage, 0 if usage is None or self._price is None else usage.cost(self._price))
        self.reservation.commit(usage, self._price)

    def renew(self, reservation: Reservation) -> None:
        """Continue under another reservation, after `commit`."""
        self.reservation, self.usage = reservation, NOTHING
