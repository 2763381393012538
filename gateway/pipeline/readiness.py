"""Is this gateway ready? Asked of the parts themselves, not of what they said last time.

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

# Anybody may ask, so what it costs is paid twice a second at most: a write to vault, ledger and limits, and a probe
# per upstream.
_VALID_S = 0.5
_PATIENCE_S = 3.0  # a disk that hangs never answers, and balancers give up after 1 to 5 s (guess, 2026-11)

NOT_READY = frozenset({"vault", "ledger", "limits", "routes", "draining"})
"""What makes a gateway unready. One upstream that is down does not, as long as every route has another; settings that
were refused do not, because the ones before them are in force."""


@dataclass
class Readiness:
    """Asks vault, ledger, limits and upstreams."""

    routes: Sequence[RouteSettings]
    vault: Vault
    ledger: AuditSink
    quota: Quota
    upstreams: Mapping[str, Upstream]
    others: list[Callable[[], Mapping[str, str]]] = field(default_factory=list)
    """What else may be wrong, by name; asked every time, so it must cost nothing."""
    _asked_at: float = 0.0
    _wrong: dict[str, str] = field(default_factory=dict)
    _asking: asyncio.Task[None] | None = None
    _checks: dict[str, asyncio.Task[str]] = field(default_factory=dict)

    async def wrong(self) -> dict[str, str]:
        """What is wrong now, by name; empty when all is well."""
        if self._asking is None and time.monotonic() - self._asked_at >= _VALID_S:
            self._asking = asyncio.create_task(self._look(), name="readiness")
        if self._asking is not None:
            await asyncio.shield(self._asking)  # whoever leaves takes no answer from the others who wait
        # What an upstream said when last asked makes nothing unready: other APIs or models of it may be well.
        refused = {f"upstream:{name}": each.refusal for name, each in self.upstreams.items() if each.refusal}
        wrong = refused | self._wrong
        for other in self.others:
            wrong |= other()
        return wrong

    async def _look(self) -> None:
        try:
            self._wrong = await self._ask()
            self._asked_at = time.monotonic()
        finally:
            self._asking = None

    async def _ask(self) -> dict[str, str]:
        # One that hangs is asked no second time, and must not be let go either: somebody answers to it some day.
        self._checks = {name: check for name, check in self._checks.items() if not check.done()}
        for name, look in self._looks():
            if name not in self._checks:
                self._checks[name] = asyncio.create_task(_wrong_with(look), name=f"readiness of {name}")
        await asyncio.wait(self._checks.values(), timeout=_PATIENCE_S)
        said = {name: check.result() if check.done() else _SILENT for name, check in self._checks.items()}
        wrong = {name: what for name, what in said.items() if what}
        unserved = [
            route.model for route in self.routes if all(f"upstream:{name}" in wrong for name in route.upstreams)
        ]
        if unserved:
            wrong["routes"] = f"no upstream for {', '.join(unserved)}"
        return wrong

    def _looks(self) -> Iterator[tuple[str, Callable[[], Awaitable[str]]]]:
        yield "vault", _checked(self.vault.check, "can't be written")
        yield "ledger", _checked(self.ledger.check, "can't be written")
        yield "limits", _checked(self.quota.check, "can't be held")
        for name, upstream in self.upstreams.items():
            yield f"upstream:{name}", upstream.trouble


_SILENT = "doesn't answer"


def _checked(check: Callable[[], Awaitable[None]], failed: str) -> Callable[[], Awaitable[str]]:
    async def look() -> str:
        try:
            await check()
        except SovctlError:
            return failed
        return ""

    return look


async def _wrong_with(look: Callable[[], Awaitable[str]]) -> str:
    """What a look says; one that fails says that nobody knows, and is told in the log though nobody may wait for it."""
    try:
        return await look()
    except Exception as error:  # noqa: BLE001 - not measured is never healthy, whatever the reason
        log.event("our mistake", level=40, error=error)
        return "not known"
