"""Opens and closes the admin surface of one worker: its board, its application, its listener.

async with admin_surface(listen, parts, key=key): ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl import __version__

from ..access.authenticator import Authenticator
from ..audit.audit_log import AuditLog
from ..pipeline.readiness import Readiness
from ..quota.quota import Quota
from ..settings import AdminListen, GatewaySettings
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..upstream import Upstream
from .actions import Actions
from .app import AdminApp
from .board import TELL_EVERY_S, Board
from .listener import serving
from .status import Handoffs, Sources


@dataclass
class AdminComponents:
    """The components of a running gateway that operators see."""

    settings: Callable[[], GatewaySettings]
    authenticator: Callable[[], Authenticator]
    metrics: Callable[[], Metrics]
    readiness: Readiness
    upstreams: Mapping[str, Upstream]
    quota: Quota
    audit: AuditLog
    reload: Callable[[], None]
    folder: Path | None
    """Shared by the workers; None for a single process."""
    jwks: Mapping[str, Any] | None = None
    handoffs: Handoffs | None = None


@asynccontextmanager
async def admin_surface(listen: AdminListen, shown: AdminComponents, *, key: bytes) -> AsyncIterator[None]:
    """Serve operators until the end of this context.

    Args:
        key: signs cookies and forms; the same in all workers.

    Raises:
        InputError: another program uses the port.
    """
    board = Board(shown.folder, lambda: {"upstreams": [each.as_record() for each in shown.upstreams.values()]})
    shown.readiness.others.append(lambda: {"draining": "requested by an operator"} if board.is_draining else {})
    sources = Sources(
        settings=shown.settings,
        authenticator=shown.authenticator,
        metrics=shown.metrics,
        wrong=shown.readiness.wrong,
        quota=shown.quota,
        board=board,
        ledger=shown.settings().ledger.directory,
        version=__version__,
        reload=shown.reload,
        jwks=shown.jwks,
        handoffs=shown.handoffs,
    )
    app = AdminApp(
        sources,
        Actions(sources, shown.audit),
        key=key,
        session_s=listen.session_s,
        is_encrypted=listen.certificate_file is not None,
    )
    telling = asyncio.create_task(_tell(board), name="board")
    try:
        async with serving(listen, app):
            yield
    finally:
        telling.cancel()
        board.withdraw()


async def _tell(board: Board) -> None:
    while True:
        try:
            board.write()
        except OSError as error:
            log.event("worker status not written", level=40, error=error)
        await asyncio.sleep(TELL_EVERY_S)
