"""What one request may use, and what is said when it may not."""

from __future__ import annotations

from .meter import Account, Meter, Unit
from .need import NOTHING, Amounts, Nano, Usage

_FREE = Nano(0, 0)


class LimitReached(Exception):
    """A limit of the caller or of his team does not allow this request now.

    Args:
        kind: the field of `CallerLimits`.
        retry_after_s: when it may; None when it never will, being larger than the limit itself.
    """

    def __init__(self, kind: str, retry_after_s: float | None, accounts: tuple[Account, ...]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.accounts = accounts

    @property
    def is_cost(self) -> bool:
        """True for money, of which another upstream may need less."""
        return self.kind.startswith("cost_")

    @property
    def is_budget(self) -> bool:
        """True for days and months, where trying again soon is no use."""
        return self.kind.endswith(("_day", "_month"))


class Reservation:
    """What one request may use. `commit` is idempotent."""

    __slots__ = ("_taken", "accounts")

    def __init__(self, accounts: tuple[Account, ...], need: Amounts) -> None:
        self.accounts = accounts
        self._taken: list[tuple[Meter, int, int]] | None = []
        for account in accounts:
            account.take(need, self._taken)

    def commit(self, usage: Usage | None, price: Nano | None) -> None:
        """Return what the request did not use to the limits. Idempotent.

        Args:
            usage: what it used; None keeps all that was reserved.
            price: of the upstream that answered; None keeps the money that was reserved.
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
                meter.put_back(amount - usage.tokens, slot)
            elif meter.kind.unit is Unit.COST and price is not None:
                meter.put_back(amount - usage.cost(price), slot)

    def release(self) -> None:
        """No upstream has begun an answer, so no token was used. It was a request all the same."""
        self.commit(NOTHING, _FREE)


UNLIMITED = Reservation((), Amounts(0, 0, 0))
"""Of everybody who has no limits."""
