"""Components of a running gateway: opened in order, closed in reverse order, and replaced if the settings change.

async with Components(settings).open() as context: ...      # as `server` does
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sovctl.compliance import signing as signing
from sovctl.compliance.ledger.group import GroupCommit
from sovctl.compliance.ledger.line import LineSender
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.upkeep import Upkeep
from sovctl.support.errors import InputError, SovctlError

from ..access.assertion import PrincipalSigner
from ..api.app import AppContext
from ..api.vector_stores import VectorStores
from ..audit.audit_log import AuditLog, AuditSink
from ..audit.records import timestamp
from ..audit.subjects import Subjects
from ..detect import make_detector
from ..detect.clean_text_cache import Finder
from ..handoff.queue import open_queue
from ..handoff.service import HandoffService
from ..handoff.watch import Watch
from ..model_finders import LlmReview, ModelFinder
from ..pipeline.preparation import cache_salt
from ..pipeline.readiness import Readiness
from ..pipeline.service import RequestHandler
from ..quota.fair_queue import FairQueue
from ..quota.listed_hits import ListedHits
from ..quota.open_store import open_store
from ..quota.quota import Quota
from ..routing.deprioritized import DeprioritizedUpstreams
from ..settings import AdminListen, GatewaySettings
from ..storage.permissions import require_private
from ..storage.store_timeout import store_stall_timeout
from ..telemetry import log
from ..telemetry.metrics import Metrics, MetricsFolder
from ..telemetry.tracing import Tracing
from ..tokens.keys import load_token_keys
from ..upstream import Upstream
from ..upstream.drained_servers import DrainedServers
from ..upstream.retrieval_service import RetrievalClient
from ..upstream.stale_reads import StaleReads
from ..vault import Vault, load_keks, open_vault
from .background import (
    follow_drained_servers,
    keep_ledger,
    log_unhandled_error,
    purge_vault,
    record_erasures,
    record_stale_reads,
    share_metrics,
)
from .findings_expiry import forget_findings
from .queue_figures import measure_queue
from .reload import InForce, Reloader
from .uvicorn_server import UvicornServer

# Allocations before the garbage collector scans new objects. Requests leave almost no cyclic garbage, and each scan
# during a request is wasted: a request allocates more than CPython's default of 700 (3.11, 2026-11).
_YOUNG_OBJECTS = 10_000


class Components:
    """The components of a running gateway.

    Args:
        config: the file of the settings; watched for changes if given.
        finder: replaces the detector of the settings.
    """

    def __init__(self, settings: GatewaySettings, *, config: Path | None = None, finder: Finder | None = None) -> None:
        self.settings = settings
        self._config = config
        require_private(settings)
        self._keys = load_token_keys(settings)
        self._keks = load_keks(settings.vault)
        self._in_force = InForce.load(settings, (lambda _: finder) if finder is not None else make_detector)
        key_files = settings.access.principal_key_files
        self._signer = PrincipalSigner.open(key_files, site=settings.site) if key_files else None
        self._metrics = Metrics()
        self._deprioritized = DeprioritizedUpstreams.shared()
        self._listed_hits = ListedHits()
        self.metrics_folder: Path | None = None
        """Folder in which several workers share their metrics."""
        self._background: set[asyncio.Task[None]] = set()
        self._ledger_key = signing.load_or_create(settings.ledger.key_file)
        self.failure: Exception | None = None
        self.server: UvicornServer | None = None
        self.line: socket.socket | None = None
        """Connection to the process that writes the ledger; None if this process writes it."""

    def open_ledger(self) -> Ledger:
        """Open the gateway's ledger for writing.

        Raises:
            SovctlError: another process writes it, or it is damaged.
        """
        settings = self.settings.ledger
        return Ledger.open(settings.directory, origin=settings.origin, key=self._ledger_key)

    async def try_vault(self) -> None:
        """Create the vault if absent, and write to it, before several workers open it.

        Raises:
            SovctlError: it cannot be opened or written.
        """
        vault = await open_vault(self.settings.vault, self._keks)
        try:
            await vault.check()
        finally:
            await vault.close()

    def start_record(self) -> dict[str, Any]:
        """Return the ledger record of a gateway's start."""
        settings = self.settings
        return {
            "type": "gateway.start",
            "site": settings.site,
            "workers": settings.workers,
            "policy_sha256": settings.policy.digest(),
            "token_key_version": self._keys.version,
            "time": timestamp(time.time()),
            "heartbeat_s": settings.ledger.heartbeat_s,
        }

    def stop_record(self) -> dict[str, Any]:
        """Return the ledger record of a gateway's end, after which no heartbeat is expected."""
        return {"type": "gateway.stop", "site": self.settings.site, "time": timestamp(time.time())}

    def upkeep(self, ledger: Ledger) -> Upkeep:
        """Return the upkeep of the gateway's ledger, for the process that writes it."""
        settings = self.settings.ledger
        return Upkeep(
            ledger,
            heartbeat={"type": "gateway.heartbeat", "site": self.settings.site},
            interval_s=settings.heartbeat_s,
            retention_days=settings.retention_days,
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AppContext]:
        """Open files and connections; close them in reverse order. Errors are stored in `failure`."""
        asyncio.get_running_loop().set_exception_handler(log_unhandled_error)
        async with AsyncExitStack() as stack:
            try:
                context = await self._open(stack)
            except OSError as error:
                self.failure = InputError(f"file unusable: {error.strerror}", where=str(error.filename))
                raise
            except Exception as error:
                self.failure = error
                raise
            gc.freeze()  # objects that exist now are permanent, so the collector need not scan them
            gc.set_threshold(_YOUNG_OBJECTS)
            gc.enable()
            yield context
        log.event("stopped", site=self.settings.site)

    async def _open(self, stack: AsyncExitStack) -> AppContext:
        settings = self.settings
        await self._in_force.authenticator.__aenter__()
        stack.push_async_callback(self._close_callers)
        sink = await self._open_sink(stack)
        vault = await open_vault(settings.vault, self._keks, disk_timeout_s=settings.disk_timeout_s)
        stack.push_async_callback(vault.close)
        upstreams = {
            each.name: await stack.enter_async_context(Upstream(each, settings.limits, settings.routing))
            for each in settings.upstreams
        }
        if (drained := settings.routing.drained_servers_file) is not None:
            servers = stack.enter_context(DrainedServers(drained, upstreams.values()))
            servers.follow()  # before the first request: servers may have been drained while the gateway was stopped
            stack.callback(asyncio.create_task(follow_drained_servers(servers), name="drained servers").cancel)
        subjects = Subjects.of(vault, settings.ledger)
        audit = AuditLog(sink, settings.site, self._keys.audit, settings.policy.digest(), subjects, self._metrics)
        for name in sorted({each.prefill.upstream for each in settings.upstreams if each.prefill is not None}):
            reads = StaleReads()
            upstreams[name].read_metrics = reads.take
            record = record_stale_reads(reads, name, audit, self._metrics)
            stack.callback(asyncio.create_task(record, name=f"stale reads of {name}").cancel)
        store = await open_store(settings)
        quota = await stack.enter_async_context(
            Quota(settings.quota, settings.access.teams, store, disk_timeout_s=settings.disk_timeout_s)
        )
        readiness = Readiness(settings.routes, vault, sink, quota, upstreams, [self._draining])
        handoffs = await self._open_handoffs(stack, vault, audit, readiness)
        tracing = Tracing(settings.tracing, site=settings.site) if settings.tracing is not None else None
        if tracing is not None:
            stack.push_async_callback(tracing.close)
        opened = _Opened(vault, audit, upstreams, readiness, quota, handoffs, tracing)
        context = AppContext(
            self._service(opened, self._in_force),
            self._in_force.authenticator,
            readiness.wrong,
            self._counting(stack),
            handoffs,
            await self._open_vector_stores(stack, audit),
            FairQueue(self._metrics.queue_wait_s.observe),
        )
        measure = measure_queue(context.fair_queue, lambda: context.service.limits, self._metrics)
        stack.callback(asyncio.create_task(measure, name="fair queue").cancel)
        readiness.others.append(lambda: context.authenticator.wrong())
        readiness.others.append(lambda: context.service.failing)
        stack.push_async_callback(context.service.close)
        stack.callback(asyncio.create_task(purge_vault(vault), name="vault purge").cancel)
        stack.callback(asyncio.create_task(record_erasures(vault, audit), name="vault erasures").cancel)
        forget = forget_findings(vault, lambda: context.service.findings_memory, self._metrics)
        stack.callback(asyncio.create_task(forget, name="forgetting of findings").cancel)
        if self._config is not None:
            await stack.enter_async_context(self._reloading(self._config, opened, context))
        # The supervisor loaded the clients of a restarted worker long ago; changed settings may name other ones.
        context.authenticator.require_current()
        if settings.admin is not None:
            await self._open_admin(stack, settings.admin, opened, context)
        return context

    async def _open_handoffs(
        self, stack: AsyncExitStack, vault: Vault, audit: AuditLog, readiness: Readiness
    ) -> HandoffService | None:
        settings, handoff = self.settings, self.settings.handoff
        if handoff is None:
            return None
        queue = await open_queue(settings)
        stack.push_async_callback(queue.close)
        watch = Watch(queue, handoff, audit=audit, metrics=self._metrics, site=settings.site)
        readiness.others.append(lambda: watch.wrong)
        await stack.enter_async_context(watch)
        return HandoffService(
            handoff,
            queue=queue,
            vault=vault,
            keys=self._keys,
            audit=audit,
            metrics=self._metrics,
            ttl_s=settings.vault.ttl_s,
            max_depth=settings.limits.max_depth,
            wake=watch.wake,
        )

    async def _open_vector_stores(self, stack: AsyncExitStack, audit: AuditLog) -> VectorStores | None:
        retrieval = self.settings.retrieval
        if retrieval is None:
            return None
        assert self._signer is not None  # settings.references requires its key
        client = await stack.enter_async_context(RetrievalClient(retrieval))
        return VectorStores(client, self._signer, audit)

    async def _open_admin(
        self, stack: AsyncExitStack, listen: AdminListen, opened: _Opened, context: AppContext
    ) -> None:
        from ..admin.surface import AdminComponents, admin_surface  # imported on use: it takes 0.1 s of the start

        shown = AdminComponents(
            settings=lambda: context.service.settings,
            authenticator=lambda: context.authenticator,
            metrics=context.metrics,
            readiness=opened.readiness,
            upstreams=opened.upstreams,
            quota=opened.quota,
            audit=opened.audit,
            reload=lambda: os.kill(os.getpid() if self.line is None else os.getppid(), signal.SIGHUP),
            folder=self.metrics_folder,
            jwks=self._signer.jwks if self._signer is not None else None,
            handoffs=opened.handoffs,
        )
        await stack.enter_async_context(admin_surface(listen, shown, key=self._keys.admin))

    def _counting(self, stack: AsyncExitStack) -> Callable[[], Metrics]:
        """Return the function that computes the metrics of all workers."""
        if self.metrics_folder is None:
            return lambda: self._metrics
        folder = MetricsFolder(self.metrics_folder)
        stack.callback(folder.write, self._metrics)
        stack.callback(asyncio.create_task(share_metrics(folder, self._metrics), name="metrics").cancel)
        return lambda: folder.together(self._metrics)

    def _service(self, opened: _Opened, in_force: InForce) -> RequestHandler:
        return RequestHandler(
            in_force.settings,
            keys=self._keys,
            finder=in_force.finder,
            checks=in_force.checks,
            model_finders=self._model_finders(opened, in_force),
            screens=in_force.screens,
            vault=opened.vault,
            audit=replace(opened.audit, policy_sha256=in_force.settings.policy.digest()),
            upstreams=opened.upstreams,
            metrics=self._metrics,
            quota=opened.quota,
            signer=self._signer,
            background=self._background,
            handoffs=opened.handoffs,
            tracing=opened.tracing,
            deprioritized=self._deprioritized,
            listed_hits=self._listed_hits,
        )

    def _model_finders(self, opened: _Opened, in_force: InForce) -> list[ModelFinder]:
        look = in_force.settings.detect.llm_review
        if look is None:
            return [*in_force.models]
        salt = partial(cache_salt, self._keys.salt)
        return [*in_force.models, LlmReview(look, opened.upstreams[look.upstream], salt=salt)]

    @asynccontextmanager
    async def _reloading(self, config: Path, opened: _Opened, context: AppContext) -> AsyncIterator[None]:
        """Apply changed settings to `context` until the end of this context.

        Raises:
            InputError: the current settings file cannot be applied. A restarted worker may have been forked long after
                the supervisor loaded the settings.
        """

        async def put_in_force(new: InForce, changed: list[str]) -> None:
            settings = new.settings
            await opened.audit.policy(
                policy_sha256=settings.policy.digest(),
                previous_policy_sha256=context.service.settings.policy.digest(),
                settings_sha256=settings.digest(),
                changed=changed,
            )
            # No `await` from here on: a request uses either all old or all new settings.
            context.service, context.authenticator = self._service(opened, new), new.authenticator
            opened.readiness.routes = settings.routes
            opened.quota.use(settings.quota, settings.access.teams)
            for upstream in opened.upstreams.values():
                upstream.limits = settings.limits
            if self.server is not None:
                self.server.config.timeout_graceful_shutdown = settings.limits.drain_s
                self.server.announce_s = settings.limits.announce_s
            self._in_force = new

        reloader = Reloader(
            config, self._in_force, make_finder=make_detector, put_in_force=put_in_force, metrics=self._metrics
        )
        opened.readiness.others.append(lambda: reloader.wrong)
        if not await reloader.reload(is_start=True):
            reason = "; ".join(reloader.wrong.values())
            raise InputError(f"cannot apply the settings: {reason}", where=str(config))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, reloader.wake)
        watching = asyncio.create_task(reloader.watch(), name="reload")
        try:
            yield
        finally:
            watching.cancel()
            loop.remove_signal_handler(signal.SIGHUP)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload must not end the last answers

    async def _open_sink(self, stack: AsyncExitStack) -> AuditSink:
        stall_timeout = store_stall_timeout("ledger", self.settings.disk_timeout_s)
        if self.line is not None:
            sender = LineSender(self.line, on_broken=self._stop, stall_timeout=stall_timeout)
            stack.push_async_callback(sender.close)
            return sender
        ledger = stack.enter_context(self.open_ledger())
        group = await stack.enter_async_context(GroupCommit(ledger, stall_timeout=stall_timeout))
        await group.append(self.start_record())
        stack.push_async_callback(self._record_stop, group)
        keep = keep_ledger(group, self.upkeep(ledger))
        stack.callback(asyncio.create_task(keep, name="ledger upkeep").cancel)
        return group

    async def _record_stop(self, group: GroupCommit) -> None:
        with contextlib.suppress(SovctlError):  # such as a full disk; the end of the gateway is then a gap
            await group.append(self.stop_record())

    def _stop(self) -> None:
        if self.server is not None:
            self.server.should_exit = True

    async def _close_callers(self) -> None:
        await self._in_force.authenticator.__aexit__(None, None, None)

    def _draining(self) -> dict[str, str]:
        is_draining = self.server is not None and self.server.is_draining
        return {"draining": "told to stop"} if is_draining else {}


@dataclass(frozen=True)
class _Opened:
    """Objects that stay open when settings change."""

    vault: Vault
    audit: AuditLog
    upstreams: Mapping[str, Upstream]
    readiness: Readiness
    quota: Quota
    handoffs: HandoffService | None
    tracing: Tracing | None
