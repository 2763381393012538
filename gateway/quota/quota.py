"""A reservation before anything is sent, settled with what was really used; mostly without asking anybody.

Each process spends what it has leased. When a lease is missing, all requests that wait for one share a transaction;
what nobody used for a second goes back. A limit that the store refused is not asked for again at once, so that a
client who hammers costs nothing.

    async with Quota(settings.quota, settings.access.teams, store) as quota:
        reservation = quota.take(principal, need) or await quota.reserve(principal, need)
        ...
        reservation.commit(Usage(812, 96), price)      # or None: unknown use keeps what was reserved
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sovctl.support.stall_timeout import DISK_TIMEOUT_S, HUNG

from ..access.principal import Principal
from ..settings import TeamSettings
from ..settings.quota import CallerLimits, QuotaSettings
from ..storage.store_timeout import store_patience
from ..telemetry import log
from .meter import Account, LeaseReturn, Meter
from .need import Amounts
from .reservation import UNLIMITED, LimitReached, Reservation
from .store import HOLD_S, Lease, LeaseRequest, QuotaUnavailable, Store
from .window import retry_at

CONCURRENT = "concurrent_requests"
_FLUSH_EVERY_S = 1.0
_SHUT_S = 0.25  # others may give something back meanwhile, so no refusal is believed for longer
_RETRY_RUNNING_S = 1.0  # nobody knows when a running request ends


@dataclass(slots=True)
class _Waiting:
    accounts: tuple[Account, ...]
    need: Amounts
    result: asyncio.Future[Reservation]


class Quota:
    """Limits of all callers and teams, as far as this process is concerned. Use as an async context manager.

    Args:
        store: None where nothing is limited.
        clock: seconds since 1970.
        disk_timeout_s: how long a request waits for a store that does not answer.
    """

    def __init__(
        self,
        settings: QuotaSettings,
        teams: Sequence[TeamSettings],
        store: Store | None,
        *,
        clock: Callable[[], float] = time.time,
        disk_timeout_s: float = DISK_TIMEOUT_S,
    ) -> None:
        self._each_caller: CallerLimits | None
        self._team_limits: dict[str | None, CallerLimits]
        self.use(settings, teams)
        self._store = store
        self._clock = clock
        self._accounts: dict[str, Account] = {}
        self._holder = secrets.token_hex(8)
        self._renewed_at = 0.0
        self._asking = asyncio.Lock()
        """What is asked of the store about who runs must reach it in the order in which it was decided."""
        self._waiting: list[_Waiting] = []
        self._in_round: list[_Waiting] = []
        self._patience = store_patience("limits", disk_timeout_s)
        self._patience.on_hung = self._refuse_all
        self._leasing: asyncio.Task[None] | None = None
        self._flushing: asyncio.Task[None] | None = None

    def is_limited(self, principal: Principal) -> bool:
        """True when anything of this caller is counted."""
        return principal.limits is not None or self._each_caller is not None or principal.team in self._team_limits

    def use(self, settings: QuotaSettings, teams: Sequence[TeamSettings]) -> None:
        """New limits; those of a caller come with him. What is used counts against the new ones."""
        self._each_caller = None if settings.default_limits.is_unlimited else settings.default_limits
        self._team_limits = {team.name: team.limits for team in teams if not team.limits.is_unlimited}

    def take(self, principal: Principal, need: Amounts) -> Reservation | None:
        """Reserve from what is leased; None when a lease is missing.

        Raises:
            LimitReached: the store said so a moment ago.
        """
        accounts = self._accounts_of(principal)
        if not accounts:
            return UNLIMITED
        now = self._clock()
        for account in accounts:
            if account.is_short(need, now):
                if (meter := account.shut(need, now)) is not None:
                    raise LimitReached(meter.kind.name, meter.free_at - now, accounts)
                return None
        return Reservation(accounts, need)

    async def reserve(self, principal: Principal, need: Amounts) -> Reservation:
        """Reserve, with a new lease if one is missing.

        Raises:
            LimitReached: not now, or never.
            QuotaUnavailable: the store can't be asked.
        """
        if (reservation := self.take(principal, need)) is not None:
            return reservation
        if self._store is None:
            raise QuotaUnavailable("expected a store for limits, got none", where="quota.path")
        if self._patience.is_hung:
            raise QuotaUnavailable(HUNG)
        waiting = _Waiting(self._accounts_of(principal), need, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        for account in waiting.accounts:
            account.waiting += 1
        if self._leasing is None:
            self._leasing = asyncio.create_task(self._lease_until_nobody_waits(self._store), name="quota lease")
        try:
            return await waiting.result
        except asyncio.CancelledError:
            if waiting.result.done() and not waiting.result.cancelled() and waiting.result.exception() is None:
                waiting.result.result().release()  # it was reserved in the moment in which the client left
            raise
        finally:
            for account in waiting.accounts:
                account.waiting -= 1

    async def used(self) -> list[tuple[str, str, int, int]]:
        """What counts now, over all processes: subject, kind, slot and amount.

        Raises:
            QuotaUnavailable: nobody can say.
        """
        return await self._store.used(now=self._clock()) if self._store is not None else []

    async def check(self) -> None:
        """Return when limits can be held.

        Raises:
            QuotaUnavailable: who has limits is not served now.
        """
        if self._store is not None:
            await self._store.check()

    async def __aenter__(self) -> Self:
        if self._store is not None:
            self._flushing = asyncio.create_task(self._flush_now_and_then(), name="quota flush")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is None or self._flushing is None:
            return
        async with self._asking:  # what a flush has given back must not be given back again
            self._flushing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._flushing
        if self._leasing is not None:
            await self._leasing
        self._patience.stop()
        with contextlib.suppress(QuotaUnavailable):
            await self.flush(is_last=True)
        await self._store.close()

    async def flush(self, *, is_last: bool = False) -> None:
        """Give back what nobody uses; say that this process is still there.

        Raises:
            QuotaUnavailable: it stays owed.
        """
        store = self._store
        if store is None:
            return
        async with self._asking:
            now = self._clock()
            meters = [meter for account in self._accounts.values() for meter in account.meters]
            await self._pay(store, [], {meter: meter.debts(all_of_it=is_last) for meter in meters})
            accounts = list(self._accounts.values())
            is_due = not 0 <= now - self._renewed_at < HOLD_S / 3  # also when the clock went back
            if is_due or any(each.held > each.running for each in accounts):
                for each in accounts:
                    each.held = min(each.held, each.running)
                await store.renew(self._holder, {each.subject: each.held for each in accounts}, now=now)
                self._renewed_at = now
                for each in accounts:
                    each.held_until = now + HOLD_S / 2  # it must end here before it ends in the store
            self._accounts = {name: each for name, each in self._accounts.items() if not each.is_unused}

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            try:
                await self.flush()
            except QuotaUnavailable as error:
                log.event("quota store not reached", level=40, error=error)

    def _accounts_of(self, principal: Principal) -> tuple[Account, ...]:
        limits = self._each_caller if principal.limits is None else principal.limits
        team_limits = self._team_limits.get(principal.team)
        if limits is None:
            return () if team_limits is None else (self._account(f"team:{principal.team}", team_limits),)
        own = self._account(principal.subject, limits)
        return (own,) if team_limits is None else (own, self._account(f"team:{principal.team}", team_limits))

    def _account(self, subject: str, limits: CallerLimits) -> Account:
        account = self._accounts.get(subject)
        if account is None:
            account = self._accounts[subject] = Account(subject, limits)
        elif account.limits is not limits and account.limits != limits:
            account.set_limits(limits)
        return account

    async def _lease_until_nobody_waits(self, store: Store) -> None:
        while self._waiting:
            waiting, self._waiting = [each for each in self._waiting if not each.result.done()], []
            self._in_round = waiting
            self._patience.begin(asyncio.get_running_loop())
            try:
                async with self._asking:
                    await self._lease(store, waiting)
            except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
                log.event("lease failed", level=40, error=error)
                for each in waiting:
                    if not each.result.done():
                        each.result.set_exception(QuotaUnavailable("expected a lease, got none"))
            self._patience.end()
        self._leasing = None

    def _refuse_all(self) -> None:
        """Nobody waits any longer for a store that hangs. What it grants after all, the next ones get."""
        for each in (*self._in_round, *self._waiting):
            if not each.result.done():
                each.result.set_exception(QuotaUnavailable(HUNG))

    async def _lease(self, store: Store, waiting: Sequence[_Waiting]) -> None:
        """One round: ask the store once for all who wait, then serve them in their order."""
        now = self._clock()
        arriving: dict[Account, int] = {}
        short: dict[Meter, list[int]] = {}
        for each in waiting:
            for account in each.accounts:
                arriving[account] = arriving.get(account, 0) + 1
                for meter in account.meters:
                    short.setdefault(meter, []).append(each.need[meter.part])
        for account, count in arriving.items():
            await self._hold(store, account, count, now)
        wants = {
            meter: LeaseRequest(
                subject=meter.subject,
                kind=meter.kind.name,
                window=meter.kind.window,
                slot=meter.slot,
                limit=meter.limit,
                need=min(amounts) - meter.balance,
                wanted=sum(amounts) - meter.balance,
            )
            for meter, amounts in short.items()
            if meter.is_short(sum(amounts), now)
        }
        leases = await self._pay(store, list(wants.values()), {meter: meter.owed for meter in wants})
        found = dict(zip(wants, leases, strict=True))
        for meter, lease in found.items():
            meter.lease(lease.amount, wants[meter].slot, meter.limit - sum(lease.slots.values()))
        for each in waiting:
            if not each.result.done():
                self._serve(each, found)

    async def _hold(self, store: Store, account: Account, arriving: int, now: float) -> None:
        limit = account.limits.concurrent_requests
        if limit is None or not account.is_full(now, arriving):
            return
        held = await store.hold(
            self._holder,
            account.subject,
            limit=limit,
            need=account.running + 1,
            wanted=account.running + arriving,
            now=now,
        )
        account.held = held or account.running
        account.held_until = now + HOLD_S / 2

    def _serve(self, waiting: _Waiting, found: Mapping[Meter, Lease]) -> None:
        """Reserve for one who waits, refuse him, or let him wait for the next round."""
        now = self._clock()
        for account in waiting.accounts:
            if account.limits.concurrent_requests is not None and account.is_full(now):
                waiting.result.set_exception(LimitReached(CONCURRENT, _RETRY_RUNNING_S, waiting.accounts))
                return
            for meter in account.meters:
                amount = waiting.need[meter.part]
                if not meter.is_short(amount, now):
                    continue
                if (lease := found.get(meter)) is None or meter.left >= amount - meter.balance:
                    self._waiting.append(waiting)  # the slot ended meanwhile
                    return
                at = retry_at(meter.kind.window, lease.slots, limit=meter.limit, need=amount)
                if at is not None:
                    meter.shut(amount, free_at=at, until=min(at, now + _SHUT_S))
                retry_after_s = None if at is None else max(0.0, at - now)
                waiting.result.set_exception(LimitReached(meter.kind.name, retry_after_s, waiting.accounts))
                return
        waiting.result.set_result(Reservation(waiting.accounts, waiting.need))

    async def _pay(
        self, store: Store, wants: Sequence[LeaseRequest], debts: Mapping[Meter, list[LeaseReturn]]
    ) -> list[Lease]:
        """Take leases and give back what is owed; when that fails, it stays owed."""
        for meter in debts:
            meter.owed = []
        owed = [debt for each in debts.values() for debt in each]
        if not wants and not owed:
            return []
        try:
            return await store.lease(wants, owed)
        except BaseException:
            for meter, each in debts.items():
                meter.owed += each
            raise
