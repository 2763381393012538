"""Readiness checks of `/readyz`: vault, ledger, limits and upstreams.

await readiness.wrong()      # {} or {"vault": "can't be written", "upstream:chat": "doesn't answer", ...}
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sovctl.support.errors import SovctlError

from ..audit.audit_log import AuditSink
from ..quota.quota import Quota
from ..settings import RouteSettings
from ..telemetry import log
from ..upstream import Upstream
from ..vault import Vault

# `/readyz` needs no credential, so the checks run at most twice a second: a write to vault, ledger and limits, and a
# probe of each upstream.
_VALID_S = 0.5
_CHECK_TIMEOUT_S = 3.0  # timeouts of load balancers are 1 to 5 s (guess, 2026-11)

NOT_READY = frozenset({"vault", "ledger", "limits", "routes", "draining"})
"""Failures that make a gateway unready. A failed upstream does not if every route has another one; rejected settings
do not, because the previous ones apply."""


@dataclass
class Readiness:
    """Checks vault, ledger, limits and upstreams."""

    routes: Sequence[RouteSettings]
    vault: Vault
    ledger: AuditSink
    quota: Quota
    upstreams: Mapping[str, Upstream]
    others: list[Callable[[], Mapping[str, str]]] = field(default_factory=list)
    """Functions that return other failures by name. Each call of `wrong` calls them, so they must be fast."""
    _asked_at: float = 0.0
    _wrong: dict[str, str] = field(default_factory=dict)
    _asking: asyncio.Task[None] | None = None
    _checks: dict[str, asyncio.Task[str]] = field(default_factory=dict)

    async def wrong(self) -> dict[str, str]:
        """Return the failures by name; empty if all checks pass."""
        if self._asking is None and time.monotonic() - self._asked_at >= _VALID_S:
            self._asking = asyncio.create_task(self._check_all(), name="readiness")
        if self._asking is not None:
            await asyncio.shield(self._asking)  # cancelling one caller does not cancel the others
        # A refusal by an upstream does not make the gateway unready: its other APIs or models may work.
        refused = {f"upstream:{name}": each.refusal for name, each in self.upstreams.items() if each.refusal}
        wrong = refused | self._wrong
        for other in self.others:
            wrong |= other()
        return wrong

    async def _check_all(self) -> None:
        try:
            self._wrong = await self._ask()
            self._asked_at = time.monotonic()
        finally:
            self._asking = None

    async def _ask(self) -> dict[str, str]:
        # A check that hangs is not started again, and its task is kept until it ends.
        self._checks = {name: check for name, check in self._checks.items() if not check.done()}
        for name, look in self._components():
            if name not in self._checks:
                self._checks[name] = asyncio.create_task(_failure_of(look), name=f"readiness of {name}")
        await asyncio.wait(self._checks.values(), timeout=_CHECK_TIMEOUT_S)
        results = {name: check.result() if check.done() else _SILENT for name, check in self._checks.items()}
        wrong = {name: what for name, what in results.items() if what}
        own = {route.model: route.upstreams for route in self.routes}
        unserved = [
            route.model
            for route in self.routes
            if all(
                f"upstream:{name}" in wrong
                for model in (route.model, *route.fallback_routes)
                for name in own.get(model, ())
            )
        ]
        if unserved:
            wrong["routes"] = f"no upstream for {', '.join(unserved)}"
        return wrong

    def _components(self) -> Iterator[tuple[str, Callable[[], Awaitable[str]]]]:
        yield "vault", _checked(self.vault.check, "can't be written")
        yield "ledger", _checked(self.ledger.check, "can't be written")
        yield "limits", _checked(self.quota.check, "can't be held")
        for name, upstream in self.upstreams.items():
            yield f"upstream:{name}", upstream.models_problem


_SILENT = "doesn't answer"


def _checked(check: Callable[[], Awaitable[None]], failed: str) -> Callable[[], Awaitable[str]]:
    async def look() -> str:
        try:
            await check()
        except SovctlError:
            return failed
        return ""

    return look


async def _failure_of(look: Callable[[], Awaitable[str]]) -> str:
    """Return the result of a check. A check that raises is logged, and its result is unknown."""
    try:
        return await look()
    except Exception as error:  # noqa: BLE001 - a component is unhealthy unless its check passed
        log.event("internal error", level=40, error=error)
        return "not known"
