"""Content of the operator page as plain values: `GET /api/status` returns it, the page renders it.

status = await gather(sources, scope=scope, now=time.time())
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sovctl.support.errors import SovctlError

from ..access.authenticator import Authenticator
from ..pipeline.readiness import NOT_READY
from ..quota.quota import Quota
from ..quota.store import QuotaUnavailable
from ..settings import CallerLimits, GatewaySettings
from ..telemetry.metrics import Metrics
from .board import Board
from .budgets import budgets
from .decisions import recent
from .figures import answered_by_route, by_label, figures
from .pools import upstreams
from .scope import Scope
from .usage import Period, Span, query_of, totals, usage_table, with_rest

_MAX_DECISIONS = 50


class Handoffs(Protocol):
    """The queue of hand-offs. Its rows contain ids, names, codes and times; `shown` contains tokens."""

    async def waiting(self) -> Sequence[Mapping[str, Any]]:
        """Return the open hand-offs, the oldest first: `id`, `state` (`waiting`, `taken`), `since`, `tenant`, `model`,
        `reasons`, `taken_by`."""

    async def case(self, handoff_id: str) -> Mapping[str, Any] | None:
        """Return one hand-off, resolved or not, with `said`: messages with `role` and `text`; None if absent."""

    async def tenant(self, handoff_id: str) -> str | None:
        """Return the tenant of a hand-off; None if absent."""

    async def take(self, handoff_id: str, *, by: str) -> bool:
        """Assign a hand-off to an operator; False if it is absent or assigned to another one."""

    async def resolve(self, handoff_id: str, *, by: str, answer: str | None) -> bool:
        """Resolve a hand-off, with the answer for the client; False if it is absent."""


@dataclass
class Sources:
    """Sources of the page's values."""

    settings: Callable[[], GatewaySettings]
    """Settings in force."""
    authenticator: Callable[[], Authenticator]
    metrics: Callable[[], Metrics]
    """Metrics of all workers."""
    wrong: Callable[[], Awaitable[Mapping[str, str]]]
    quota: Quota
    board: Board
    ledger: Path
    version: str
    reload: Callable[[], None]
    """Makes every worker read its settings again."""
    jwks: Mapping[str, Any] | None = None
    """JWK set with which upstreams verify `x-sovctl-principal`."""
    handoffs: Handoffs | None = None


async def gather(sources: Sources, *, scope: Scope, now: float) -> dict[str, Any]:
    """Return the values that an operator may see.

    An unavailable section is None, and not an empty list, which would look like normal operation.

    Args:
        now: seconds since 1970.
    """
    settings, wrong = sources.settings(), dict(await sources.wrong())
    metrics, workers = sources.metrics(), sources.board.workers()
    decisions = await asyncio.to_thread(recent, sources.ledger, most=_MAX_DECISIONS)
    status = {
        "site": settings.site,
        "version": sources.version,
        "at": now,
        "is_ready": NOT_READY.isdisjoint(wrong),
        "is_draining": sources.board.is_draining,
        "wrong": wrong,
        "policy_sha256": settings.policy.digest(),
        "figures": figures(metrics),
        "routes": routes(settings, answered_by_route(metrics)),
        "upstreams": upstreams(settings.upstreams, workers, by_label(metrics.upstream_failures.values, 0)),
        "refused": by_label(metrics.refused.values, 0),
        "findings": by_label(metrics.findings.values, 0),
        "budgets": await _budgets(sources, settings, now),
        "decisions": decisions,
        "handoffs": await _handoffs(sources),
    }
    return scope.visible(status, _tenants(sources, settings))


async def gather_usage(sources: Sources, *, scope: Scope, span: Span, period: Period, now: float) -> dict[str, Any]:
    """Return the usage and the budgets that an operator may see.

    Returns:
        `table`, `teams`: see `usage`; None if the store is unavailable. `budgets`: limits with the remaining amounts.
    """
    settings = sources.settings()
    prices, tenants = settings.quota.prices, _tenants(sources, settings)
    currency = prices.currency if prices else ""
    try:
        rows = await sources.quota.usage_between(span.first, span.last)
        table = usage_table(rows, period=period, currency=currency, includes=scope.includes)
    except QuotaUnavailable:
        table = None
    limits = await _budgets(sources, settings, now)
    if limits is not None:
        own = [row for row in limits if scope.is_whole_site or scope.includes(tenants.get(row["subject"]))]
        limits = with_rest(own, tenants)
    return {
        "first": Period.DAY.name_of(span.first),
        "last": Period.DAY.name_of(span.last),
        "by": period.value,
        "query": query_of(span, period),
        "table": table,
        "teams": None if table is None else totals(table, by=("tenant", "team")),
        "budgets": limits,
    }


def _tenants(sources: Sources, settings: GatewaySettings) -> dict[str, str]:
    """Return the tenant by subject of a budget."""
    clients = {f"client:{client.name}": client.tenant for client in sources.authenticator().clients}
    return clients | {f"team:{team.name}": team.tenant for team in settings.access.teams}


def routes(settings: GatewaySettings, answered: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return a row for every route, in the order of the settings."""
    return [
        {
            "model": route.model,
            "pool": route.pool,
            "cloud": route.cloud,
            "prefer": route.prefer,
            "by_pool": answered.get(route.model, {}).get("pool", 0),
            "by_cloud": answered.get(route.model, {}).get("cloud", 0),
        }
        for route in settings.routes
    ]


async def _handoffs(sources: Sources) -> list[Mapping[str, Any]] | None:
    if sources.handoffs is None:
        return None
    try:
        return list(await sources.handoffs.waiting())
    except SovctlError:
        return None  # reported in `wrong`


async def _budgets(sources: Sources, settings: GatewaySettings, now: float) -> list[dict[str, Any]] | None:
    each = settings.quota.default_limits
    limits: dict[str, CallerLimits] = {
        f"client:{client.name}": each if client.limits.is_unlimited else client.limits
        for client in sources.authenticator().clients
    }
    limits |= {f"team:{team.name}": team.limits for team in settings.access.teams}
    prices = settings.quota.prices
    try:
        used = await sources.quota.used()
    except QuotaUnavailable:
        return None
    return budgets(used, limits=limits, currency=prices.currency if prices else "", now=now)
