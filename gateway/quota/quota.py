"""Reserves quota before a request is sent, and commits what was used; most reservations need no query.

Each process spends its leases. Requests that wait for a lease share one transaction. A lease that was not used for one
second is returned. After the store refused a limit, it is not asked again for 0.25 s, so that a client that sends many
requests costs little.

    async with Quota(settings.quota, settings.access.teams, store) as quota:
        reservation = quota.take(principal, need) or await quota.reserve(principal, need)
        ...
        reservation.commit(Usage(812, 96), price)      # None, if the usage is unknown, keeps what was reserved
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
from ..settings.traffic.quota import CallerLimits, QuotaSettings
from ..storage.store_timeout import store_stall_timeout
from ..telemetry import log
from .meter import Account, LeaseReturn, Meter
from .need import Amounts
from .reservation import UNLIMITED, LimitReached, Reservation
from .store import HOLD_S, Lease, LeaseRequest, QuotaUnavailable, Store
from .usage import UsageCounts, UsageRow
from .window import retry_at

CONCURRENT = "concurrent_requests"
_FLUSH_EVERY_S = 1.0
_SHUT_S = 0.25  # validity of a refusal, because other processes return leases
_RETRY_RUNNING_S = 1.0  # guess, because the end of a running request is unknown


@dataclass(slots=True)
class _Waiting:
    accounts: tuple[Account, ...]
    need: Amounts
    result: asyncio.Future[Reservation]


class Quota:
    """Limits of all principals and teams in this process. Use as an async context manager.

    Args:
        store: None without limits.
        clock: returns seconds since 1970.
        disk_timeout_s: timeout of a store that does not answer.
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
        self.usage = UsageCounts(clock=clock) if store is not None else None
        """Counts for the usage page; None without a store, or if `usage_days` is 0."""
        self._counts = self.usage
        self._each_caller: CallerLimits | None
        self._team_limits: dict[str | None, CallerLimits]
        self.use(settings, teams)
        self._store = store
        self._clock = clock
        self._accounts: dict[str, Account] = {}
        self._holder = secrets.token_hex(8)
        self._renewed_at = 0.0
        self._asking = asyncio.Lock()
        """Serializes changes of `Account.held`, which must reach the store in the order of the decisions."""
        self._waiting: list[_Waiting] = []
        self._in_round: list[_Waiting] = []
        self._stall_timeout = store_stall_timeout("limits", disk_timeout_s)
        self._stall_timeout.on_hung = self._refuse_all
        self._leasing: asyncio.Task[None] | None = None
        self._flushing: asyncio.Task[None] | None = None

    def is_limited(self, principal: Principal) -> bool:
        """Return whether the principal has a limit."""
        return principal.limits is not None or self._each_caller is not None or principal.team in self._team_limits

    def use(self, settings: QuotaSettings, teams: Sequence[TeamSettings]) -> None:
        """Apply new default limits and team limits. Earlier usage counts against them."""
        self._each_caller = None if settings.default_limits.is_unlimited else settings.default_limits
        self._team_limits = {team.name: team.limits for team in teams if not team.limits.is_unlimited}
        self._usage_days = settings.usage_days
        self.usage = self._counts if settings.usage_days else None

    def take(self, principal: Principal, need: Amounts) -> Reservation | None:
        """Return a reservation from the leases of this process; None if another lease is needed.

        Raises:
            LimitReached: the store refused as much within the last 0.25 s.
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
        """Return a reservation, with a new lease if one is needed.

        Raises:
            LimitReached: a limit does not allow it now.
            QuotaUnavailable: the store is unavailable.
        """
        if (reservation := self.take(principal, need)) is not None:
            return reservation
        if self._store is None:
            raise QuotaUnavailable("expected a store for limits, got none", where="quota.path")
        if self._stall_timeout.is_hung:
            raise QuotaUnavailable(HUNG)
        waiting = _Waiting(self._accounts_of(principal), need, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        for account in waiting.accounts:
            account.waiting += 1
        if self._leasing is None:
            self._leasing = asyncio.create_task(self._lease_while_requests_wait(self._store), name="quota lease")
        try:
            return await waiting.result
        except asyncio.CancelledError:
            if waiting.result.done() and not waiting.result.cancelled() and waiting.result.exception() is None:
                waiting.result.result().release()  # it was reserved while the client disconnected
            raise
        finally:
            for account in waiting.accounts:
                account.waiting -= 1

    async def used(self) -> list[tuple[str, str, int, int]]:
        """Return the usage that counts now, of all processes: subject, kind, slot and amount.

        Raises:
            QuotaUnavailable: the store is unavailable.
        """
        return await self._store.used(now=self._clock()) if self._store is not None else []

    async def usage_between(self, first: int, last: int) -> list[UsageRow]:
        """Return the usage of all processes from one day to another, both included.

        Raises:
            QuotaUnavailable: the store is unavailable.
        """
        if self._store is None:
            return []
        with contextlib.suppress(QuotaUnavailable):  # reported by the read
            await self._store_usage(self._store)
        return await self._store.usage(first, last)

    async def check(self) -> None:
        """Return if the store works; raise otherwise.

        Raises:
            QuotaUnavailable: requests with limits are refused.
        """
        if self._store is not None:
            await self._store.check()

    async def __aenter__(self) -> Self:
        if self._store is not None:
            self._flushing = asyncio.create_task(self._flush_periodically(), name="quota flush")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is None or self._flushing is None:
            return
        async with self._asking:  # a flush that is cancelled could return a lease twice
            self._flushing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._flushing
        if self._leasing is not None:
            await self._leasing
        self._stall_timeout.stop()
        with contextlib.suppress(QuotaUnavailable):
            await self.flush(is_last=True)
        await self._store.close()

    async def flush(self, *, is_last: bool = False) -> None:
        """Return unused leases, and renew this process's right to run requests.

        Args:
            is_last: return all leases.

        Raises:
            QuotaUnavailable: the leases are returned by a later call.
        """
        store = self._store
        if store is None:
            return
        async with self._asking:
            now = self._clock()
            meters = [meter for account in self._accounts.values() for meter in account.meters]
            await self._pay(store, [], {meter: meter.lease_returns(all_of_it=is_last) for meter in meters})
            accounts = list(self._accounts.values())
            is_due = not 0 <= now - self._renewed_at < HOLD_S / 3  # also if the clock was set back
            if is_due or any(each.held > each.running for each in accounts):
                for each in accounts:
                    each.held = min(each.held, each.running)
                await store.renew(self._holder, {each.subject: each.held for each in accounts}, now=now)
                self._renewed_at = now
                for each in accounts:
                    each.held_until = now + HOLD_S / 2  # ends in this process before it ends in the store
            self._accounts = {name: each for name, each in self._accounts.items() if not each.is_unused}
        await self._store_usage(store)

    async def _store_usage(self, store: Store) -> None:
        """Add the counted usage to the store.

        Raises:
            QuotaUnavailable: it is added by a later call.
        """
        counts = self._counts
        if counts is None or not (rows := counts.take()):
            return
        try:
            await store.add_usage(rows, oldest=counts.today - self._usage_days)
        except BaseException:
            counts.put_back(rows)
            raise

    async def _flush_periodically(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            try:
                await self.flush()
            except QuotaUnavailable as error:
                log.event("quota store unavailable", level=40, error=error)

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

    async def _lease_while_requests_wait(self, store: Store) -> None:
        while self._waiting:
            waiting, self._waiting = [each for each in self._waiting if not each.result.done()], []
            self._in_round = waiting
            self._stall_timeout.begin(asyncio.get_running_loop())
            try:
                async with self._asking:
                    await self._lease(store, waiting)
            except Exception as error:  # noqa: BLE001 - the exception is set on every pending future
                log.event("lease failed", level=40, error=error)
                for each in waiting:
                    if not each.result.done():
                        each.result.set_exception(QuotaUnavailable("expected a lease, got none"))
            self._stall_timeout.end()
        self._leasing = None

    def _refuse_all(self) -> None:
        """Fail all pending requests, because the store does not answer. Later requests get the leases it may grant."""
        for each in (*self._in_round, *self._waiting):
            if not each.result.done():
                each.result.set_exception(QuotaUnavailable(HUNG))

    async def _lease(self, store: Store, waiting: Sequence[_Waiting]) -> None:
        """Ask the store once for all waiting requests, then serve them in order."""
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
        leases = await self._pay(store, list(wants.values()), {meter: meter.returns_due for meter in wants})
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
        """Reserve for a waiting request, refuse it, or leave it for the next round."""
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
                    self._waiting.append(waiting)  # the slot ended since the request for a lease
                    return
                at = retry_at(meter.kind.window, lease.slots, limit=meter.limit, need=amount)
                if at is not None:
                    meter.shut(amount, free_at=at, until=min(at, now + _SHUT_S))
                retry_after_s = None if at is None else max(0.0, at - now)
                waiting.result.set_exception(LimitReached(meter.kind.name, retry_after_s, waiting.accounts))
                return
        waiting.result.set_result(Reservation(waiting.accounts, waiting.need))

    async def _pay(
        self, store: Store, wants: Sequence[LeaseRequest], lease_returns: Mapping[Meter, list[LeaseReturn]]
    ) -> list[Lease]:
        """Take leases and return `lease_returns`; after a failure, these are still returns_due."""
        for meter in lease_returns:
            meter.returns_due = []
        returns_due = [debt for each in lease_returns.values() for debt in each]
        if not wants and not returns_due:
            return []
        try:
            return await store.lease(wants, returns_due)
        except BaseException:
            for meter, each in lease_returns.items():
                meter.returns_due += each
            raise
