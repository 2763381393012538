"""What this process has leased of limits, and spends without asking anybody. Time is an argument.

A `Meter` is one limit of one caller or team. Its balance was taken from the store for one slot and is good in that slot
only; what is left when the slot ends is owed back. An `Account` is all meters of one caller or team.

    if not account.is_short(need, now):
        account.take(need)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..settings.quota import CallerLimits
from .need import NANO, Amounts
from .window import Window


class Unit(StrEnum):
    """What a meter counts."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class LimitKind:
    """One of the limits a caller can have."""

    name: str
    """The field of `CallerLimits`, and what the store calls it."""
    unit: Unit
    window: Window
    scale: int = 1
    """From what settings say to what is counted."""


KINDS = (
    LimitKind("requests_per_minute", Unit.REQUESTS, Window.MINUTE),
    LimitKind("tokens_per_minute", Unit.TOKENS, Window.MINUTE),
    LimitKind("tokens_per_day", Unit.TOKENS, Window.DAY),
    LimitKind("tokens_per_month", Unit.TOKENS, Window.MONTH),
    LimitKind("cost_per_day", Unit.COST, Window.DAY, NANO),
    LimitKind("cost_per_month", Unit.COST, Window.MONTH, NANO),
)


@dataclass(frozen=True, slots=True)
class LeaseReturn:
    """What goes back to the store: a lease that was not spent. Negative when more was spent than leased."""

    subject: str
    kind: str
    slot: int
    amount: int


class Meter:
    """One limit of one caller or team."""

    __slots__ = ("_shut_for", "_shut_until", "balance", "ends_at", "free_at", "is_idle", "kind", "left", "limit",
                 "owed", "part", "slot", "starts_at", "subject")  # fmt: skip

    def __init__(self, subject: str, kind: LimitKind, limit: int) -> None:
        self.subject, self.kind, self.limit = subject, kind, limit
        self.part = Amounts._fields.index(kind.unit.value)
        """Where a `Amounts` has what this meter counts."""
        self.slot, self.starts_at, self.ends_at = 0, 0.0, 0.0
        self.balance = 0
        self.left = limit
        """In the store, as it said last."""
        self.owed: list[LeaseReturn] = []
        self.is_idle = True
        self.free_at = 0.0
        """When the store will have what it refused last."""
        self._shut_for, self._shut_until = 0, 0.0

    def is_short(self, amount: int, now: float) -> bool:
        """True when `amount` can't be taken now."""
        if not self.starts_at <= now < self.ends_at:
            self._roll(now)
        return self.balance < amount

    def put_back(self, amount: int, slot: int) -> None:
        """Some of what was taken in `slot` was not used; or more was, when negative."""
        if slot == self.slot and self.balance + amount >= 0:
            self.balance += amount
            self._shut_until = 0.0
        elif amount:
            self.owed.append(LeaseReturn(self.subject, self.kind.name, slot, amount))

    def lease(self, amount: int, slot: int, left: int) -> None:
        """The store granted `amount` in `slot`, and has `left` for others and for later."""
        if slot == self.slot:
            self.balance += amount
            self.left = left
        elif amount:
            self.owed.append(LeaseReturn(self.subject, self.kind.name, slot, amount))

    def debts(self, *, all_of_it: bool = False) -> list[LeaseReturn]:
        """What to give back now: leases of slots that are over, and one that nobody has used since the last call."""
        if (self.is_idle or all_of_it) and self.balance:
            self.owed.append(LeaseReturn(self.subject, self.kind.name, self.slot, self.balance))
            self.balance = 0
        self.is_idle = True
        owed, self.owed = self.owed, []
        return owed

    def shut(self, amount: int, *, free_at: float, until: float) -> None:
        """The store refused `amount`; whoever wants as much need not ask it again before `until`."""
        self._shut_for, self._shut_until, self.free_at = amount, until, free_at

    def is_shut(self, amount: int, now: float) -> bool:
        """True when the store refused as much a moment ago."""
        return now < self._shut_until and self._shut_for <= amount and self.balance < amount

    @property
    def remaining(self) -> int:
        """As far as this process knows."""
        return max(0, min(self.limit, self.balance + self.left))

    def _roll(self, now: float) -> None:
        window = self.kind.window
        if self.balance:
            self.owed.append(LeaseReturn(self.subject, self.kind.name, self.slot, self.balance))
        self.balance, self.left, self._shut_until = 0, self.limit, 0.0
        self.slot = window.slot(now)
        self.starts_at, self.ends_at = window.starts(self.slot), window.starts(self.slot + 1)


class Account:
    """All limits of one caller or team."""

    __slots__ = ("by_minute", "held", "held_until", "limits", "meters", "running", "subject", "waiting")

    def __init__(self, subject: str, limits: CallerLimits) -> None:
        self.subject = subject
        self.meters: tuple[Meter, ...] = ()
        self.by_minute: tuple[Meter, ...] = ()
        self.running = 0
        """Requests of this process."""
        self.held = 0
        """How many may run here, until `held_until`; never fewer than run."""
        self.held_until = 0.0
        self.waiting = 0
        """Requests that wait for a lease."""
        self.set_limits(limits)

    def set_limits(self, limits: CallerLimits) -> None:
        """New limits. A lease of one that changed stays taken: it is not known what it is worth now."""
        self.limits = limits
        old = {(meter.kind.name, meter.limit): meter for meter in self.meters}
        wanted = [(kind, getattr(limits, kind.name)) for kind in KINDS]
        limited = [(kind, int(value * kind.scale)) for kind, value in wanted if value is not None]
        self.meters = tuple(old.get((kind.name, limit)) or Meter(self.subject, kind, limit) for kind, limit in limited)
        self.by_minute = tuple(meter for meter in self.meters if meter.kind.window is Window.MINUTE)

    def is_full(self, now: float, arriving: int = 1) -> bool:
        """True when `arriving` more may not run here, where that is limited."""
        return self.running + arriving > self.held or now >= self.held_until

    def is_short(self, need: Amounts, now: float) -> bool:
        """True when a lease is missing for `need`."""
        if self.limits.concurrent_requests is not None and self.is_full(now):
            return True
        for meter in self.meters:  # noqa: SIM110 - on every request's way, and a generator costs as much as the rest
            if meter.is_short(need[meter.part], now):
                return True
        return False

    def shut(self, need: Amounts, now: float) -> Meter | None:
        """The limit that was refused a moment ago, and needn't be asked for again yet."""
        return next((meter for meter in self.meters if meter.is_shut(need[meter.part], now)), None)

    def take(self, need: Amounts, taken: list[tuple[Meter, int, int]]) -> None:
        """Spend it, and write down which meter it came from, in which slot."""
        self.running += 1
        for meter in self.meters:
            amount = need[meter.part]
            meter.balance -= amount
            meter.is_idle = False
            taken.append((meter, meter.slot, amount))

    @property
    def is_unused(self) -> bool:
        """True when it may be forgotten."""
        return not (self.running or self.held or self.waiting) and not any(m.balance or m.owed for m in self.meters)
