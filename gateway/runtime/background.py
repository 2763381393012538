"""Background tasks of a gateway. Each runs until it is cancelled; errors are logged, and it continues."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from functools import partial

from sovctl.compliance.ledger.group import GroupCommit
from sovctl.compliance.ledger.upkeep import Upkeep
from sovctl.support.errors import InputError, SovctlError

from ..audit.audit_log import AuditLog
from ..domain.errors import Refused
from ..telemetry import log
from ..telemetry.metrics import Metrics, MetricsFolder
from ..telemetry.metrics.sharing import WRITE_EVERY_S
from ..upstream.drained_servers import DrainedServers
from ..upstream.stale_reads import StaleReads
from ..vault import Vault

_CHECK_ERASURES_EVERY_S = 1.0  # one index lookup; an operator who erases waits for it
_FOLLOW_EVERY_S = 0.5  # one `stat` and one read of a small file; a program that stops a server waits for it
_KEEP_LEDGER_EVERY_S = 1.0  # lists one folder; an operator who searches the log waits for his record
_RECORD_STALE_READS_EVERY_S = 5.0  # several increases of one server make one record
_PURGE_EVERY_S = 60.0  # frees disk space; expired conversations are unreadable already


async def share_metrics(folder: MetricsFolder, metrics: Metrics) -> None:
    """Write the metrics of this worker for the other workers."""
    while True:
        try:
            folder.write(metrics)
        except OSError as error:
            log.event("metrics not shared", level=40, error=error)
        await asyncio.sleep(WRITE_EVERY_S)


async def follow_drained_servers(servers: DrainedServers) -> None:
    """Apply changes of the file of drained servers."""
    while True:
        try:
            if servers.follow():
                log.event("drained servers changed")
        except InputError as error:
            log.event("drained servers not read", level=40, error=error)
        await asyncio.sleep(_FOLLOW_EVERY_S)


async def record_stale_reads(reads: StaleReads, upstream: str, audit: AuditLog, metrics: Metrics) -> None:
    """Record increases of a prefilling pool's counters of late reads; those not recorded are kept."""
    waiting: Counter[tuple[int, str]] = Counter()
    while True:
        for (server, kind), count in reads.increases().items():
            metrics.stale_kv_reads.add(upstream, kind, by=count)
            log.event("stale cache read", level=40, upstream=upstream, server=server, kind=kind, count=count)
            waiting[server, kind] += count
        for (server, kind), count in [*waiting.items()]:
            with contextlib.suppress(Refused):  # logged there
                await audit.stale_read(upstream=upstream, server=server, kind=kind, count=count)
                del waiting[server, kind]
        await asyncio.sleep(_RECORD_STALE_READS_EVERY_S)


async def keep_ledger(group: GroupCommit, upkeep: Upkeep) -> None:
    """Write heartbeats and records of other processes, and remove the content of old entries."""
    while True:
        with contextlib.suppress(SovctlError):  # `/readyz` reports an unwritable ledger; the work is repeated
            if upkeep.is_due():
                await group.run(partial(upkeep.run, time.time(), queue_depth=group.queue_depth))
        await asyncio.sleep(_KEEP_LEDGER_EVERY_S)


async def purge_vault(vault: Vault) -> None:
    """Delete expired conversations, and renew wrapping keys."""
    while True:
        await asyncio.sleep(_PURGE_EVERY_S)
        try:
            if purged := await vault.purge_expired():
                log.event("vault purged", conversations=purged)
            if await vault.renew_keys():
                log.event("vault created a wrapping key")
        except SovctlError as error:
            log.event("vault purge failed", level=40, error=error)


async def record_erasures(vault: Vault, audit: AuditLog) -> None:
    """Record erasures that an operator ordered, in the ledger."""
    while True:
        await asyncio.sleep(_CHECK_ERASURES_EVERY_S)
        # `/readyz` reports problems of vault or ledger; an erasure waits for them.
        with contextlib.suppress(SovctlError, Refused):
            if count := await vault.record_erasures(audit.erased):
                log.event("erasures recorded", erasures=count)


def log_unhandled_error(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Log an error that no task handled."""
    error = context.get("exception")
    log.event("unhandled error", level=40, error=error if isinstance(error, BaseException) else None)
