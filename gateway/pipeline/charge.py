"""Charges a request's reservation with what its upstreams used."""

from __future__ import annotations

from ..quota.need import NOTHING, Nano, Usage
from ..quota.reservation import Reservation
from ..upstream import Attempts


class Charge:
    """Usage under the current reservation of a request. Another upstream gets a reservation of its own if the one
    before may have used what was reserved.

    Args:
        tries: connections of the request; each hedged one may have used as much as the other.
    """

    __slots__ = ("_price", "_tries", "reservation", "usage")

    def __init__(self, reservation: Reservation, tries: Attempts) -> None:
        self.reservation = reservation
        self.usage: Usage | None = NOTHING
        """Tokens used so far; None if an upstream was asked and has not reported its usage."""
        self._price: Nano | None = None
        self._tries = tries

    def begin(self, price: Nano | None) -> None:
        """Note that an upstream is about to be asked.

        Args:
            price: of the upstream; None without one.
        """
        self._tries.hedges = 0
        self.usage, self._price = None, price

    def commit(self) -> None:
        """Commit the reservation with the usage. Idempotent."""
        usage = self.usage
        if usage is not None and (hedges := self._tries.hedges):
            usage = Usage(usage.prompt * (1 + hedges), usage.completion * (1 + hedges))
        self.reservation.commit(usage, self._price)

    def renew(self, reservation: Reservation) -> None:
        """Continue under another reservation, after `commit`."""
        self.reservation, self.usage = reservation, NOTHING
