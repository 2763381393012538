"""Is this gateway ready? Asked of the parts themselves, not of what they said last time.

await readiness.wrong()      # {} or {"vault": "can't be written", "upstream:chat": "doesn't answer", ...}
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sovctl.compliance.errors import SovctlError
from sovctl.gateway.audit import Sink
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.settings import RouteSettings
from sovctl.gateway.upstream import Upstream
from sovctl.gateway.vault import Vault

# Anybody may ask, so what it costs is paid twice a second at most: a write to vault, ledger and limits, and a probe
# per upstream.
_VALID_S = 0.5

NOT_READY = frozenset({"vault", "ledger", "limits", "routes", "draining"})
"""What makes a gateway unready. One upstream that is down does not, as long as every route has another; settings that
were refused do not, because the ones before them are in force."""


@dataclass
class Readiness:
    """Asks vault, ledger, limits and upstreams."""

    routes: Sequence[RouteSettings]
    vault: Vault
    ledger: Sink
    quota: Quota
    upstreams: Mapping[str, Upstream]
    others: list[Callable[[], Mapping[str, str]]] = field(default_factory=list)
    """What else may be wrong, by name; asked every time, so it must cost nothing."""
    _asked_at: float = 0.0
    _wrong: dict[str, str] = field(default_factory=dict)
    _asking: asyncio.Task[None] | None = None

    async def wrong(self) -> dict[str, str]:
        """What is wrong now, by name; empty when all is well."""
        if self._asking is None and time.monotonic() - self._asked_at >= _VALID_S:
            self._asking = asyncio.create_task(self._look(), name="readiness")
        if self._asking is not None:
            await asyncio.shield(self._asking)  # whoever leaves takes no answer from the others who wait
        wrong = dict(self._wrong)
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
        wrong: dict[str, str] = {}
        try:
            await self.vault.check()
        except SovctlError:
            wrong["vault"] = "can't be written"
        try:
            await self.ledger.check()
        except SovctlError:
            wrong["ledger"] = "can't be written"
        try:
            await self.quota.check()
        except SovctlError:
            wrong["limits"] = "can't be held"
        asked = await asyncio.gather(*(upstream.answers() for upstream in self.upstreams.values()))
        answers = dict(zip(self.upstreams, asked, strict=True))
        wrong |= {f"upstream:{name}": "doesn't answer" for name, does in answers.items() if not does}
        unserved = [route.model for route in self.routes if not any(answers[name] for name in route.upstreams)]
        if unserved:
            wrong["routes"] = f"no upstream for {', '.join(unserved)}"
        return wrong
