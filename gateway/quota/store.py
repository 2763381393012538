"""The store of leases: what quotas need of it, and what its two implementations share.

    spent       subject, kind, slot, amount      leased and not returned
    holding     subject, holder, amount, until   concurrent requests that a process may run

A lease is on the disk before it is spent, so a crash or a power cut loses none. A process that dies keeps its leases
until their window ends, and its right to run requests for `HOLD_S`. All amounts are integers.

    store = await open_store(settings)
    (lease,) = await store.lease([LeaseRequest("client:branch", "tokens_per_day", ...)], [])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..storage.errors import StorageFailed
from .meter import LeaseReturn
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


class QuotaUnavailable(StorageFailed):
    """The store can't say what may be used. Who has limits is not served."""


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A lease that is asked for."""

    subject: str
    kind: str
    window: Window
    slot: int
    limit: int
    need: int
    """Less is of no use."""
    wanted: int
    """For all who wait."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What the store says to a `LeaseRequest`."""

    amount: int
    """0 when the need did not fit."""
    slots: Mapping[int, int]
    """What was taken in the window of now, by slot, this lease included."""


class Store(Protocol):
    """Counts use for several processes."""

    async def lease(self, wants: Sequence[LeaseRequest], owed: Sequence[LeaseReturn]) -> list[Lease]:
        """Take back what is owed, then grant each want alone; in the order of `wants`.

        Raises:
            QuotaUnavailable: nothing was granted, and nothing taken back.
        """

    async def hold(self, holder: str, subject: str, *, limit: int, need: int, wanted: int, now: float) -> int:
        """Let a process run `need` to `wanted` requests of a subject in all; how many, 0 for too many elsewhere.

        Raises:
            QuotaUnavailable: it may run none.
        """

    async def renew(self, holder: str, held: Mapping[str, int], *, now: float) -> None:
        """Say that a process is still there, and what it holds on to.

        Raises:
            QuotaUnavailable: not heard.
        """

    async def used(self, *, now: float) -> list[tuple[str, str, int, int]]:
        """What counts now, as subject, kind, slot and amount; sorted."""

    async def check(self) -> None:
        """Write something, so that a full or read-only disk is noticed.

        Raises:
            QuotaUnavailable: it can't be written.
        """

    async def close(self) -> None:
        """Let go of the file or the connection."""
