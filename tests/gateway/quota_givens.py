"""Authenticator, limits, a clock and stores that the tests of quotas share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sovctl.gateway.access.principal import Method, Principal
from sovctl.gateway.quota.need import Amounts
from sovctl.gateway.quota.postgresql_store import PostgresqlStore
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.quota.sqlite_store import SqliteStore
from sovctl.gateway.quota.store import Store
from sovctl.gateway.settings import CallerLimits, PostgresqlSettings, TeamSettings
from sovctl.gateway.settings.traffic.quota import QuotaSettings
from sovctl.gateway.storage.postgresql import Address
from sovctl.support.stall_timeout import DISK_TIMEOUT_S

NOON = 1_795_262_400.0  # 2026-11-21 12:00 UTC
ONE = Amounts(1, 100, 10)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def caller(name: str = "branch", team: str | None = None, **limits: Any) -> Principal:
    """A client with limits."""
    own = CallerLimits(**limits) if limits else None
    return Principal(name, "retail", Method.API_KEY, "k", team=team, limits=own, subject=f"client:{name}")


def quota(
    store: Store | None,
    clock: Clock,
    *,
    teams: dict[str, Any] | None = None,
    disk_timeout_s: float = DISK_TIMEOUT_S,
    **settings: Any,
) -> Quota:
    """The quotas of one process."""
    made = [
        TeamSettings(name=name, tenant="retail", limits=CallerLimits(**limits))
        for name, limits in (teams or {}).items()
    ]
    return Quota(QuotaSettings(path="x", **settings), made, store, clock=clock, disk_timeout_s=disk_timeout_s)


async def opened(argument: str) -> Store:
    """The store at a path, or with these settings of a database."""
    if not argument.startswith("{"):
        return SqliteStore.open(Path(argument))
    return await PostgresqlStore.open(Address.of(PostgresqlSettings.model_validate_json(argument)))
