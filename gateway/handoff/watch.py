"""Looks after the queue, in every worker: what is wrong with it, and, in one of them, what else is to be done.

The one on duty tells the webhook of what waits, again and again until it was heard, and forgets what has expired;
when it dies, another takes over in ten seconds.

    async with Watch(queue, settings, audit=audit, metrics=metrics, site="lab") as watch:
        watch.wake()       # something new is in the queue
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
    import aiohttp  # a quarter of a gateway's start, for those who have a webhook

_LOOK_EVERY_S = 1.0  # three reads of a small file, 0.1 ms in all
_AT_ONCE = 16  # calls of the webhook
_UNHEARD_S = 60  # how long a receiver may be down before it shows in /readyz


class Watch:
    """Watches one queue. The webhook's key and authority are read at once.

    Raises:
        InputError: one of them can't be used.
    """

    def __init__(
        self, queue: Queue, settings: HandoffSettings, *, audit: AuditLog, metrics: Metrics, site: str
    ) -> None:
        self.wrong: dict[str, str] = {}
        """For `/readyz`: why nobody looks after what was handed over; empty when all is well."""
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
                trust_env=False,  # a proxy in the environment is a way out that nobody planned
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        self._task = asyncio.create_task(self._watch(), name="hand-offs")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait((self._task,))
        with contextlib.suppress(SovctlError):
            await self._queue.leave_duty(self._holder)
        if self._session is not None:
            await self._session.close()

    def wake(self) -> None:
        """Something new is in the queue."""
        self._woken.set()

    async def _watch(self) -> None:
        while True:
            try:
                await self._look()
            except (SovctlError, Refused) as error:
                self.wrong = {"handoffs": "the queue can't be read or written"}
                log.event("queue of hand-offs failed", level=40, error=error)
            except Exception as error:  # noqa: BLE001 - it goes on looking, whatever it was
                self.wrong = {"handoffs": "our mistake; the log says where"}
                log.event("our mistake", level=40, error=error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), _LOOK_EVERY_S)
            self._woken.clear()

    async def _look(self) -> None:
        now = time.time()
        census = await self._queue.census()
        self._metrics.handoffs_open.put(census.open)
        self.wrong = _wrong(census, self._settings, now=now)
        if await self._queue.is_on_duty(self._holder, now=now):
            await self._forget(int(now))
            if self._session is not None:
                due = await self._queue.due(now=now, most=_AT_ONCE)
                await asyncio.gather(*(self._tell(self._session, each) for each in due))

    async def _forget(self, now: int) -> None:
        expired = await self._queue.expired(now=now)
        for case in expired:
            if case.state.is_open:
                await self._audit.handoff(case.request_id, event="expired", handoff_id=case.id, digest=None)
                self._metrics.handoffs.add("expired")
        if expired:
            await self._queue.forget(now=now)

    async def _tell(self, session: aiohttp.ClientSession, due: Due) -> None:
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
            await self._queue.heard(due.case.id)
            return
        log.event("webhook not heard", level=30, handoff_id=due.case.id, reason=outcome, attempts=due.attempts + 1)
        wait = wait_s(due.attempts, random.random())  # noqa: S311 - it spreads attempts, nobody gains by guessing it
        await self._queue.unheard(due.case.id, next_at=time.time() + wait)


def _wrong(census: Counts, settings: HandoffSettings, *, now: float) -> dict[str, str]:
    said = []
    if census.open >= settings.max_open:
        said.append(f"the queue is full: {census.open} are open")
    if census.oldest_waiting is not None and now - census.oldest_waiting >= settings.stuck_after_s:
        said.append(f"nobody took the oldest one in {int(now - census.oldest_waiting)} s")
    if census.unheard_since is not None and now - census.unheard_since >= min(_UNHEARD_S, settings.stuck_after_s):
        said.append("the webhook is not heard")
    return {"handoffs": "; ".join(said)} if said else {}
