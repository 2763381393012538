"""Runs a gateway: opens its components, serves until a signal, and completes running answers.

Errors in settings, keys, vault, ledger or detector are detected before the port is opened.
Changed settings are applied during operation: see `reload`.
On SIGTERM `/readyz` reports `draining` for `limits.announce_s` seconds. Then, or on SIGINT, no new connection is
accepted, running answers have `limits.drain_s` seconds, and the ledger gets a last signed checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal

import uvicorn

from sovctl.support.errors import SovctlError

from ..access.certificate import CertificateProtocol
from ..api.app import App
from ..http.connections import DeadlineProtocol, protocol_class, raise_file_limit
from ..http.listen import check_port, port_taken
from ..http.tls import check_certificate, client_certificates
from ..http.upgrade import MAX_EVENT_BYTES
from ..settings import GatewaySettings
from ..telemetry import log
from ..upstream import proxy_of, tls_context
from .components import Components
from .supervisor import Supervisor
from .uvicorn_server import UvicornServer

_KEEP_ALIVE_S = 75  # longer than the idle timeout of httpx, so that the client closes first


def serve(settings: GatewaySettings, *, config: Path | None = None) -> None:
    """Serve until a signal.

    Args:
        config: the file of the settings; changes are applied during operation.

    Raises:
        SovctlError: a component failed to start; the port was not opened.
    """
    log.set_up()
    raise_file_limit()
    for upstream in settings.upstreams:
        tls_context(upstream)
        proxy_of(upstream)
    check_certificate(settings.listen)
    if settings.admin is not None:
        check_certificate(settings.admin, where="admin")
        check_port(settings.admin)
    components = Components(settings, config=config)
    if settings.workers == 1:
        run(components, None)
        return
    asyncio.run(components.try_vault())
    with components.open_ledger() as ledger, tempfile.TemporaryDirectory(prefix="sovctl-gateway-") as folder:
        components.metrics_folder = Path(folder)
        ledger.append([components.start_record()])
        try:
            Supervisor(settings, ledger, partial(_work, components), components.upkeep(ledger)).run()
        finally:
            with contextlib.suppress(SovctlError):  # such as a full disk; the end of the gateway is then a gap
                ledger.append([components.stop_record()])


def run(components: Components, listening: socket.socket | None) -> None:
    """Serve in this process until a signal.

    Args:
        listening: socket to serve on; None: a new one.

    Raises:
        SovctlError: the server did not start.
    """
    settings = components.settings
    options = uvicorn.Config(
        App(components.open),
        host=settings.listen.host,
        port=settings.listen.port,
        ssl_certfile=settings.listen.certificate_file,
        ssl_keyfile=settings.listen.key_file,
        ssl_ca_certs=settings.listen.client_ca_file,
        ssl_cert_reqs=client_certificates(settings.listen),
        loop="uvloop",
        http=protocol_class(
            CertificateProtocol if settings.listen.client_ca_file else DeadlineProtocol, settings.listen
        ),
        ws=_websocket_protocol(settings),
        ws_max_size=MAX_EVENT_BYTES,
        ws_ping_interval=None,  # the session has a timeout of its own, and a slow upstream may pause its reading
        ws_per_message_deflate=False,  # a small frame may expand to a large event
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.limits.drain_s,
    )
    options.load()
    if isinstance(options.ssl, ssl.SSLContext):
        options.ssl.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    components.server = server = UvicornServer(options, site=settings.site, announce_s=settings.limits.announce_s)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):  # uvicorn exits by itself if it could not start
        server.run([listening] if listening is not None else None)
    if components.failure is not None:
        raise components.failure
    if not server.started:
        raise port_taken(settings.listen)


def _websocket_protocol(settings: GatewaySettings) -> type[asyncio.Protocol] | Literal["none"]:
    """Return the protocol of WebSockets; `none`, which ignores upgrades, if no pool serves them."""
    if not settings.has_realtime:
        return "none"
    from ..http.websockets import RealtimeProtocol  # imported on use: it takes 0.1 s of the start

    return RealtimeProtocol


def _work(components: Components, listening: socket.socket, line_end: socket.socket) -> None:
    """Serve as one of several workers, with the ledger in another process."""
    components.line = line_end
    run(components, listening)
