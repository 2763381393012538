"""The reservation of one request, and the exception that refuses one."""

from __future__ import annotations

from .meter import Account, Meter, Unit
from .need import NOTHING, Amounts, Nano, Usage


class LimitReached(Exception):
    """A limit of the principal or its team does not allow this request now.

    Args:
        kind: the field of `CallerLimits`.
        retry_after_s: seconds until it is allowed; None if it never is, because it is larger than the limit.
        accounts: the limits of the principal and its team.
    """

    def __init__(self, kind: str, retry_after_s: float | None, accounts: tuple[Account, ...]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.accounts = accounts

    @property
    def is_cost(self) -> bool:
        """Whether it is a limit of cost, which another upstream may not reach."""
        return self.kind.startswith("cost_")

    @property
    def is_budget(self) -> bool:
        """Whether it is a limit by day or month, after which the client should not retry soon."""
        return self.kind.endswith(("_day", "_month"))


class Reservation:
    """Amounts that are taken from the limits for one request."""

    __slots__ = ("_taken", "accounts")

    def __init__(self, accounts: tuple[Account, ...], need: Amounts) -> None:
        self.accounts = accounts
        self._taken: list[tuple[Meter, int, int]] | None = []
        for account in accounts:
            account.take(need, self._taken)

    def commit(self, usage: Usage | None, price: Nano | None) -> None:
        """Return what the request did not use to the limits. Idempotent.

        Args:
            usage: tokens that it used; None if that is unknown, which keeps all amounts.
            price: price of the upstream; None keeps the reserved cost, unless no tokens were used.
        """
        if self._taken is None:
            return
        taken, self._taken = self._taken, None
        for account in self.accounts:
            account.running -= 1
        if usage is None:
            return
        for meter, slot, amount in taken:
            if meter.kind.unit is Unit.TOKENS:
                meter.refund(amount - usage.tokens, slot)
            elif meter.kind.unit is Unit.COST and (price is not None or not usage.tokens):
                meter.refund(amount - (usage.cost(price) if price is not None else 0), slot)

    def release(self) -> None:
        """Return all tokens and the cost, because no upstream was asked. The request itself still counts."""
        self.commit(NOTHING, None)


UNLIMITED = Reservation((), Amounts(0, 0, 0))
"""Reservation of requests without limits."""
