"""Runs the retrieval service on its port, with mutual TLS, until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import uvicorn

from sovctl.support.errors import SovctlError

from ..access.certificate import CertificateProtocol
from ..http.connections import protocol_class, raise_file_limit
from ..http.listen import check_port, port_taken
from ..http.tls import check_certificate
from ..telemetry import log
from .database.store import Store
from .metrics import RetrievalMetrics
from .models import EmbeddingClient, RerankClient
from .search.search import Searcher
from .service import Service
from .settings import RetrievalSettings

_DRAIN_S = 20  # a search takes milliseconds; a document waits for its embeddings


def serve(settings: RetrievalSettings) -> None:
    """Serve until a signal.

    Raises:
        SovctlError: a component failed to start; the port was not opened.
    """
    log.set_up()
    raise_file_limit()
    listen = settings.listen.for_gateway_listener()
    check_certificate(listen)
    check_port(listen)
    asyncio.run(_serve(settings))


async def _serve(settings: RetrievalSettings) -> None:
    metrics = RetrievalMetrics()
    listen = settings.listen.for_gateway_listener()
    async with contextlib.AsyncExitStack() as stack:
        store = await Store.open(settings, metrics)
        stack.push_async_callback(store.close)
        await store.check()
        embedders = [EmbeddingClient(model) for model in settings.models]
        reranker = RerankClient(settings.rerank) if settings.rerank else None
        for embedder in embedders:
            stack.push_async_callback(embedder.close)
        if reranker is not None:
            stack.push_async_callback(reranker.close)
        service = Service(settings, store, Searcher(store, embedders[0], reranker), embedders, metrics)
        options = uvicorn.Config(
            service.app,
            host=listen.host,
            port=listen.port,
            ssl_certfile=listen.certificate_file,
            ssl_keyfile=listen.key_file,
            ssl_ca_certs=str(listen.client_ca_file),
            ssl_cert_reqs=ssl.CERT_REQUIRED,
            http=protocol_class(CertificateProtocol, listen),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN_S,
        )
        options.load()
        if isinstance(options.ssl, ssl.SSLContext):
            options.ssl.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
        server = uvicorn.Server(options)
        log.event("serving", port=listen.port, collections=len(settings.collections))
        try:
            await server.serve()
        except SystemExit:  # uvicorn exits by itself if it could not start
            raise port_taken(listen) from None
        if not server.started:
            raise SovctlError("the server did not start", where="listen")
