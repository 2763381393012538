"""Leases of this process, spent without a query to the store. Time is an argument.

A `Meter` is one limit of one principal or team. Its balance was leased for one slot and is valid only in that slot; the
rest is returned when the slot ends. An `Account` holds all meters of one principal or team.

    if not account.is_short(need, now):
        account.take(need, taken)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..settings.traffic.quota import CallerLimits
from .need import NANO, Amounts
from .window import Window


class Unit(StrEnum):
    """Unit of a meter."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class LimitKind:
    """A limit that a principal can have."""

    name: str
    """The field of `CallerLimits`, and the `kind` in the store."""
    unit: Unit
    window: Window
    scale: int = 1
    """Factor from the unit of the settings to the counted unit."""


LIMIT_KINDS = (
    LimitKind("requests_per_minute", Unit.REQUESTS, Window.MINUTE),
    LimitKind("tokens_per_minute", Unit.TOKENS, Window.MINUTE),
    LimitKind("tokens_per_day", Unit.TOKENS, Window.DAY),
    LimitKind("tokens_per_month", Unit.TOKENS, Window.MONTH),
    LimitKind("cost_per_day", Unit.COST, Window.DAY, NANO),
    LimitKind("cost_per_month", Unit.COST, Window.MONTH, NANO),
)


@dataclass(frozen=True, slots=True)
class LeaseReturn:
    """An unspent lease to return to the store. Its amount is negative if more was spent than leased."""

    subject: str
    kind: str
    slot: int
    amount: int


class Meter:
    """One limit of one principal or team."""

    __slots__ = (
        "_refused_amount",
        "_refused_until",
        "balance",
        "ends_at",
        "free_at",
        "is_idle",
        "kind",
        "left",
        "limit",
        "part",
        "returns_due",
        "slot",
        "starts_at",
        "subject",
    )  # fmt: skip

    def __init__(self, subject: str, kind: LimitKind, limit: int) -> None:
        self.subject, self.kind, self.limit = subject, kind, limit
        self.part = Amounts._fields.index(kind.unit.value)
        """Index in `Amounts` of what this meter counts."""
        self.slot, self.starts_at, self.ends_at = 0, 0.0, 0.0
        self.balance = 0
        self.left = limit
        """Amount left in the store, as of its last response."""
        self.returns_due: list[LeaseReturn] = []
        self.is_idle = True
        self.free_at = 0.0
        """Time when the store will have the amount that it refused last."""
        self._refused_amount, self._refused_until = 0, 0.0

    def is_short(self, amount: int, now: float) -> bool:
        """Return whether `amount` cannot be taken now."""
        if not self.starts_at <= now < self.ends_at:
            self._roll(now)
        return self.balance < amount

    def refund(self, amount: int, slot: int) -> None:
        """Return an amount that was taken in `slot` and not used; negative if more was used."""
        if slot == self.slot and self.balance + amount >= 0:
            self.balance += amount
            self._refused_until = 0.0
        elif amount:
            self.returns_due.append(LeaseReturn(self.subject, self.kind.name, slot, amount))

    def lease(self, amount: int, slot: int, left: int) -> None:
        """Add a lease of `amount` in `slot`, after which the store has `left`."""
        if slot == self.slot:
            self.balance += amount
            self.left = left
        elif amount:
            self.returns_due.append(LeaseReturn(self.subject, self.kind.name, slot, amount))

    def lease_returns(self, *, all_of_it: bool = False) -> list[LeaseReturn]:
        """Return leases of past slots, and the current one if it is unused since the last call."""
        if (self.is_idle or all_of_it) and self.balance:
            self.returns_due.append(LeaseReturn(self.subject, self.kind.name, self.slot, self.balance))
            self.balance = 0
        self.is_idle = True
        returns_due, self.returns_due = self.returns_due, []
        return returns_due

    def shut(self, amount: int, *, free_at: float, until: float) -> None:
        """Note that the store refused `amount`; the same amount is not requested again before `until`."""
        self._refused_amount, self._refused_until, self.free_at = amount, until, free_at

    def is_refused(self, amount: int, now: float) -> bool:
        """Return whether the store refused as much, and is not asked again yet."""
        return now < self._refused_until and self._refused_amount <= amount and self.balance < amount

    @property
    def remaining(self) -> int:
        """Amount left, by the count of this process."""
        return max(0, min(self.limit, self.balance + self.left))

    def _roll(self, now: float) -> None:
        window = self.kind.window
        if self.balance:
            self.returns_due.append(LeaseReturn(self.subject, self.kind.name, self.slot, self.balance))
        self.balance, self.left, self._refused_until = 0, self.limit, 0.0
        self.slot = window.slot(now)
        self.starts_at, self.ends_at = window.starts(self.slot), window.starts(self.slot + 1)


class Account:
    """All limits of one principal or team."""

    __slots__ = ("by_minute", "held", "held_until", "limits", "meters", "running", "subject", "waiting")

    def __init__(self, subject: str, limits: CallerLimits) -> None:
        self.subject = subject
        self.meters: tuple[Meter, ...] = ()
        self.by_minute: tuple[Meter, ...] = ()
        self.running = 0
        """Number of requests that run in this process."""
        self.held = 0
        """Number of requests that may run in this process until `held_until`; at least `running`."""
        self.held_until = 0.0
        self.waiting = 0
        """Number of requests that wait for a lease."""
        self.set_limits(limits)

    def set_limits(self, limits: CallerLimits) -> None:
        """Apply new limits. A lease under a changed limit is not returned, because it may exceed the new one."""
        self.limits = limits
        old = {(meter.kind.name, meter.limit): meter for meter in self.meters}
        wanted = [(kind, getattr(limits, kind.name)) for kind in LIMIT_KINDS]
        limited = [(kind, int(value * kind.scale)) for kind, value in wanted if value is not None]
        self.meters = tuple(old.get((kind.name, limit)) or Meter(self.subject, kind, limit) for kind, limit in limited)
        self.by_minute = tuple(meter for meter in self.meters if meter.kind.window is Window.MINUTE)

    def is_full(self, now: float, arriving: int = 1) -> bool:
        """Return whether `arriving` more requests may not run in this process; only for limited accounts."""
        return self.running + arriving > self.held or now >= self.held_until

    def is_short(self, need: Amounts, now: float) -> bool:
        """Return whether `need` cannot be taken without another lease."""
        if self.limits.concurrent_requests is not None and self.is_full(now):
            return True
        for meter in self.meters:  # noqa: SIM110 - runs for every request; a generator would double its time
            if meter.is_short(need[meter.part], now):
                return True
        return False

    def shut(self, need: Amounts, now: float) -> Meter | None:
        """Return the meter for which the store is not asked again yet; None if all may be asked."""
        return next((meter for meter in self.meters if meter.is_refused(need[meter.part], now)), None)

    def take(self, need: Amounts, taken: list[tuple[Meter, int, int]]) -> None:
        """Take `need`, and append the meter, slot and amount of each part to `taken`."""
        self.running += 1
        for meter in self.meters:
            amount = need[meter.part]
            meter.balance -= amount
            meter.is_idle = False
            taken.append((meter, meter.slot, amount))

    @property
    def is_unused(self) -> bool:
        """Whether it holds no state, so that it can be dropped."""
        return not (self.running or self.held or self.waiting) and not any(
            m.balance or m.returns_due for m in self.meters
        )
