"""Listener of the admin surface, in every worker, in addition to the one for clients.

The workers share the port, and each of them answers for all. The listener opens last and closes last, so that an
operator can observe a gateway that drains.

    async with serving(listen, app): ...
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from ..access.certificate import CertificateProtocol
from ..http.connections import DeadlineProtocol, protocol_class
from ..http.listen import bind
from ..http.tls import client_certificates
from ..settings.admin import AdminListen

_GRACE_S = 2
_KEEP_ALIVE_S = 30


class _Server(uvicorn.Server):
    """uvicorn server that leaves signal handlers to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(listen: AdminListen, app: ASGIApp) -> AsyncIterator[None]:
    """Serve `app` until the end of this context.

    Raises:
        InputError: another program uses the port.
    """
    protocol = CertificateProtocol if listen.client_ca_file else DeadlineProtocol
    config = uvicorn.Config(
        app,
        ssl_certfile=listen.certificate_file,
        ssl_keyfile=listen.key_file,
        ssl_ca_certs=listen.client_ca_file,
        ssl_cert_reqs=client_certificates(listen),
        http=protocol_class(protocol, listen),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    config.load()
    if isinstance(config.ssl, ssl.SSLContext):
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    server = _Server(config)
    task = asyncio.create_task(server.serve([bind(listen)]), name="admin surface")
    try:
        yield
    finally:
        server.should_exit = True
        await task
