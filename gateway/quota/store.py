"""The store of leases: what quotas need of it, and what its two implementations share.

    spent       subject, kind, slot, amount      leased and not returned
    holding     subject, holder, amount, until   concurrent requests that a process may run
    used        day, tenant, team, client, ...   used tokens and cost, for the usage page; limits do not read it

A lease is on the disk before it is spent, so a crash or a power cut loses none. A process that dies keeps its leases
until their window ends, and its right to run requests for `HOLD_S`. All amounts are integers.

    store = await open_store(settings)
    (lease,) = await store.lease([LeaseRequest("client:branch", "tokens_per_day", ...)], [])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..storage.errors import StorageFailed
from .meter import LeaseReturn
from .usage import UsageKey, UsageRow, UsageSums
from .window import Window

HOLD_S = 15.0
"""Validity of a process's right to run requests; a process renews it every third of this time."""

USED = (
    "SELECT subject, kind, slot, amount FROM spent WHERE ends_at > ? AND amount > 0 UNION ALL "
    "SELECT subject, 'concurrent_requests', 0, sum(amount) FROM holding WHERE until > ? GROUP BY subject"
)
"""The usage that counts at a time, for both stores; every `?` is that time."""

CHECK = (
    "INSERT INTO spent VALUES ('', 'check', 0, 0, 0)",
    "DELETE FROM spent WHERE subject = '' AND kind = 'check'",
)
"""Statements that write and leave no row, for one transaction in either store."""


USAGE_COLUMNS = (
    *("day", "tenant", "team", "client", "model", "upstream"),
    *("requests", "unmeasured", "prompt", "completion", "cost"),
)
ADD_USAGE = (
    "INSERT INTO used (day, tenant, team, client, model, upstream, requests, unmeasured, prompt, completion, cost) "
    "VALUES ({values}) "
    "ON CONFLICT (day, tenant, team, client, model, upstream) DO UPDATE SET requests = used.requests + "
    "excluded.requests, unmeasured = used.unmeasured + excluded.unmeasured, prompt = used.prompt + excluded.prompt, "
    "completion = used.completion + excluded.completion, cost = used.cost + excluded.cost"
)
"""Statement for both stores; `{values}` are the placeholders."""


def usage_row(columns: Sequence[Any]) -> UsageRow:
    """Return a row of `used`, whose columns are `USAGE_COLUMNS`."""
    key, sums = UsageKey(*columns[: len(UsageKey._fields)]), columns[len(UsageKey._fields) :]
    return key, UsageSums(*(int(each) for each in sums))


class QuotaUnavailable(StorageFailed):
    """The store is unavailable, so requests with limits are not served."""


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request for a lease."""

    subject: str
    kind: str
    window: Window
    slot: int
    limit: int
    need: int
    """Smallest useful amount."""
    wanted: int
    """Amount for all waiting requests."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Response to a `LeaseRequest`."""

    amount: int
    """0 if `need` did not fit."""
    slots: Mapping[int, int]
    """Amounts taken in the current window by slot, this lease included."""


class Store(Protocol):
    """Counts usage for several processes."""

    async def lease(self, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
        """Return `owed` to the limits, then grant each of `wants` separately; leases are in the order of `wants`.

        Raises:
            QuotaUnavailable: no lease was granted, and nothing was returned.
        """

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        """Return how many requests of a subject a process may run: `need` to `wanted`, or 0 if others run too many.

        Raises:
            QuotaUnavailable: it may run none.
        """

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        """Renew a process's right to run requests, by subject.

        Raises:
            QuotaUnavailable: it was not renewed.
        """

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        """Return the usage that counts now, as subject, kind, slot and amount; sorted."""

    async def add_usage(self, rows: Sequence[UsageRow], *, oldest: int) -> None:
        """Add to the usage of each row, and delete rows of days before `oldest`.

        Raises:
            QuotaUnavailable: nothing was added.
        """

    async def usage(self, first: int, last: int) -> list[UsageRow]:
        """Return the rows from one day to another, both included; sorted.

        Raises:
            QuotaUnavailable: the store cannot be read.
        """

    async def check(self) -> None:
        """Write a row, which fails if the disk is full or read-only.

        Raises:
            QuotaUnavailable: the store cannot be written.
        """

    async def close(self) -> None:
        """Close the file or the connection."""
