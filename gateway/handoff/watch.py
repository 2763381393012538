"""Monitors the queue in every worker. The worker on duty also calls the webhook and deletes expired hand-offs.

A webhook call is repeated until it succeeds. If the worker on duty dies, another takes over after ten seconds.

    async with Watch(queue, settings, audit=audit, metrics=metrics, site="lab") as watch:
        watch.wake()       # a hand-off was added
        watch.wrong        # for /readyz
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import ssl
import time
from typing import TYPE_CHECKING, Self

from sovctl.support.errors import SovctlError
from sovctl.support.secret_files import read_key

from ..audit.audit_log import AuditLog
from ..domain.errors import Refused
from ..settings import HandoffSettings
from ..telemetry import log
from ..telemetry.metrics import Metrics
from .queue import Counts, Due, Queue
from .signature import body_of, headers_of, wait_s

if TYPE_CHECKING:
    import aiohttp  # takes 25 % of a gateway's start, and only webhooks need it

_CHECK_EVERY_S = 1.0  # three reads of a small file take 0.1 ms
_MAX_CALLS = 16  # concurrent webhook calls
_FAILING_S = 60  # time that the receiver may be down before /readyz reports it


class Watch:
    """Monitors one queue. The webhook's key and CA file are read when it is created.

    Raises:
        InputError: one of them cannot be read or is invalid.
    """

    def __init__(
        self, queue: Queue, settings: HandoffSettings, *, audit: AuditLog, metrics: Metrics, site: str
    ) -> None:
        self.wrong: dict[str, str] = {}
        """Failures for `/readyz`; empty if hand-offs work."""
        self._queue = queue
        self._settings = settings
        self._audit = audit
        self._metrics = metrics
        self._site = site
        self._holder = secrets.token_hex(8)
        self._woken = asyncio.Event()
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._secret = b""
        if (webhook := settings.webhook) is not None:
            self._secret = read_key(webhook.secret_file)
            self._tls = ssl.create_default_context(cafile=webhook.ca_file)

    async def __aenter__(self) -> Self:
        if (webhook := self._settings.webhook) is not None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=webhook.timeout_s),
                trust_env=False,  # ignore HTTP_PROXY and HTTPS_PROXY
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        self._task = asyncio.create_task(self._watch(), name="hand-offs")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait((self._task,))
        with contextlib.suppress(SovctlError):
            await self._queue.release_webhook_lease(self._holder)
        if self._session is not None:
            await self._session.close()

    def wake(self) -> None:
        """Check the queue now, because a hand-off was added."""
        self._woken.set()

    async def _watch(self) -> None:
        while True:
            try:
                await self._check()
            except (SovctlError, Refused) as error:
                self.wrong = {"handoffs": "the queue cannot be read or written"}
                log.event("queue of hand-offs failed", level=40, error=error)
            except Exception as error:  # noqa: BLE001 - monitoring continues after any failure
                self.wrong = {"handoffs": "internal error; search the gateway log for it"}
                log.event("internal error", level=40, error=error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), _CHECK_EVERY_S)
            self._woken.clear()

    async def _check(self) -> None:
        now = time.time()
        counts = await self._queue.counts()
        self._metrics.handoffs_open.put(counts.open)
        self.wrong = _wrong(counts, self._settings, now=now)
        if await self._queue.holds_webhook_lease(self._holder, now=now):
            await self._forget(int(now))
            if self._session is not None:
                due = await self._queue.due(now=now, most=_MAX_CALLS)
                await asyncio.gather(*(self._call(self._session, each) for each in due))

    async def _forget(self, now: int) -> None:
        expired = await self._queue.expired(now=now)
        for case in expired:
            if case.state.is_open:
                await self._audit.handoff(case.request_id, event="expired", handoff_id=case.id, digest=None)
                self._metrics.handoffs.add("expired")
        if expired:
            await self._queue.forget(now=now)

    async def _call(self, session: aiohttp.ClientSession, due: Due) -> None:
        import aiohttp

        webhook = self._settings.webhook
        assert webhook is not None
        body = body_of(due.case, site=self._site)
        headers = headers_of(due.case, body, secret=self._secret, now=int(time.time()))
        try:
            async with session.post(
                str(webhook.url), data=body, headers=headers, ssl=self._tls, allow_redirects=False
            ) as response:
                outcome = "" if 200 <= response.status < 300 else f"status-{response.status}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            outcome = type(error).__name__
        self._metrics.webhook_calls.add("failed" if outcome else "heard")
        if not outcome:
            await self._queue.delivered(due.case.id)
            return
        log.event("webhook call failed", level=30, handoff_id=due.case.id, reason=outcome, attempts=due.attempts + 1)
        wait = wait_s(due.attempts, random.random())  # noqa: S311 - spreads calls; no secret
        await self._queue.failed(due.case.id, next_at=time.time() + wait)


def _wrong(counts: Counts, settings: HandoffSettings, *, now: float) -> dict[str, str]:
    said = []
    if counts.open >= settings.max_open:
        said.append(f"the queue is full: {counts.open} are open")
    if counts.oldest_waiting is not None and now - counts.oldest_waiting >= settings.stuck_after_s:
        said.append(f"the oldest one has waited for {int(now - counts.oldest_waiting)} s")
    if counts.failing_since is not None and now - counts.failing_since >= min(_FAILING_S, settings.stuck_after_s):
        said.append("the webhook fails")
    return {"handoffs": "; ".join(said)} if said else {}
