"""The administrator's API of the retrieval service and the search of the gateway, in memory, with mutual TLS.

For tests of the client's errors and interruptions: `fault` makes it fail, `slow_after` holds answers back.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

COLLECTION = "handbook"


class RagService:
    """Stored documents, received requests and faults."""

    def __init__(self) -> None:
        self.url = ""
        self.documents: dict[str, dict[str, Any]] = {}
        self.directory: dict[str, list[str]] = {}
        self.log: list[tuple[str, str]] = []
        self.fault = 0
        self.slow_after: int | None = None
        self.reached = threading.Event()
        self.released = asyncio.Event()

    @web.middleware
    async def check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Record a request, fail if told to, and refuse other certificates."""
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        if request.secure and not certificate and "vector_stores" not in request.path:
            return web.json_response({"error": {"code": "certificate", "message": "no"}}, status=403)
        self.log.append((request.method, request.rel_url.raw_path))
        if self.fault:
            return web.json_response({"error": {"code": "x", "message": "fault"}}, status=self.fault)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def list(self, request: web.Request) -> web.Response:
        """`GET /v1/documents`."""
        if request.query["collection"] != COLLECTION:
            return web.json_response({"error": {"code": "collection_unknown", "message": "unknown"}}, status=404)
        rows = [
            {**{key: value for key, value in each.items() if key != "chunks"}, "chunks": len(each["chunks"])}
            for each in self.documents.values()
        ]
        return web.json_response({"documents": rows})

    async def store(self, request: web.Request) -> web.Response:
        """`POST /v1/documents`."""
        body = await request.json()
        if self.slow_after is not None and len(self.documents) >= self.slow_after:
            self.reached.set()
            await self.released.wait()
        if any("too long" in chunk["text"] for chunk in body["chunks"]):
            return web.json_response({"error": {"code": "too_long", "message": "chunk too long"}}, status=422)
        self.documents[body["source_id"]] = body
        return web.json_response({"document_id": "x"})

    async def delete(self, request: web.Request) -> web.Response:
        """`DELETE /v1/documents/COLLECTION/SOURCE`."""
        if self.documents.pop(request.match_info["source"], None) is None:
            return web.json_response({"error": {"code": "document_unknown", "message": "unknown"}}, status=404)
        return web.json_response({})

    async def groups(self, request: web.Request) -> web.Response:
        """`PUT /v1/documents/COLLECTION/SOURCE/groups`."""
        if request.match_info["source"] not in self.documents:
            return web.json_response({"error": {"code": "document_unknown", "message": "unknown"}}, status=404)
        self.documents[request.match_info["source"]]["groups"] = await request.json()
        return web.json_response({})

    async def set_directory(self, request: web.Request) -> web.Response:
        """`PUT /v1/directory`."""
        self.directory = (await request.json())["groups"]
        return web.json_response({})

    async def search(self, request: web.Request) -> web.Response:
        """`POST /v1/vector_stores/COLLECTION/search` of the gateway."""
        if request.headers.get("Authorization") != "Bearer invented-key":
            return web.json_response({"error": {"code": "key", "message": "no"}}, status=401)
        body = await request.json()
        rows = [
            {
                "file_id": "1",
                "filename": source,
                "score": 0.5,
                "attributes": {"page": each["chunks"][0]["page"]},
                "content": [{"type": "text", "text": each["chunks"][0]["text"]}],
            }
            for source, each in self.documents.items()
            if body["query"] in each["chunks"][0]["text"]
        ]
        return web.json_response(
            {"object": "vector_store.search_results.page", "data": rows[: body["max_num_results"]]}
        )


@contextmanager
def rag_service(tls: ssl.SSLContext | None = None) -> Iterator[RagService]:
    """Serve on a free port of loopback, in a thread of its own."""
    service = RagService()
    app = web.Application(client_max_size=1 << 28, middlewares=[service.check])
    app.router.add_get("/v1/documents", service.list)
    app.router.add_post("/v1/documents", service.store)
    app.router.add_put(r"/v1/documents/{collection}/{source:.+}/groups", service.groups)
    app.router.add_delete(r"/v1/documents/{collection}/{source:.+}", service.delete)
    app.router.add_put("/v1/directory", service.set_directory)
    app.router.add_post("/v1/vector_stores/{collection}/search", service.search)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    loop = asyncio.new_event_loop()

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        service.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield service
    finally:
        loop.call_soon_threadsafe(service.released.set)
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()
