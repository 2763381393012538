"""A small real embedding and reranker server on loopback, with the API of a vLLM pooling pool.

A vector counts the words of a text by hash, so texts with the same words are near. `faults` change its answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

DIMENSIONS = 64
MODEL = "words-64"
MAX_WORDS = 2_000


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return the vector of a text, of norm 1."""
    counts = [0.0] * dimensions
    for word in text.lower().split():
        counts[int.from_bytes(hashlib.sha256(word.strip(".,:;?!").encode()).digest()[:4]) % dimensions] += 1.0
    norm = math.hypot(*counts) or 1.0
    return [count / norm for count in counts]


class PoolingServer:
    """State of a server: its URL, received bodies and faults."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[dict[str, Any]] = []
        self.authorizations: list[str] = []
        self.fault = ""

    async def embeddings(self, request: web.Request) -> web.Response:
        """`POST /v1/embeddings`."""
        body = await request.json()
        self.bodies.append(body)
        self.authorizations.append(request.headers.get("Authorization", ""))
        texts: list[str] = body["input"]
        if self.fault == "down":
            return web.json_response({"error": "engine dead"}, status=500)
        if any(len(text.split()) > MAX_WORDS for text in texts):
            return web.json_response({"error": {"message": "maximum context length"}}, status=400)
        rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        rows.reverse()  # the order of the answer is not that of the request
        if self.fault == "short":
            rows.pop()
        if self.fault == "zero":
            rows[0]["embedding"] = [0.0] * DIMENSIONS
        if self.fault == "dimensions":
            rows[0]["embedding"] = [1.0]
        if self.fault == "repeated":
            rows[0]["index"] = rows[-1]["index"]
        return web.json_response({"model": "other" if self.fault == "model" else body["model"], "data": rows})

    async def rerank(self, request: web.Request) -> web.Response:
        """`POST /v1/rerank`, sorted by score as vLLM sorts."""
        body = await request.json()
        self.bodies.append(body)
        words = set(body["query"].lower().split())
        scored = [
            {"index": n, "relevance_score": len(words & set(text.lower().split())) / len(words)}
            for n, text in enumerate(body["documents"])
        ]
        scored.sort(key=lambda row: -row["relevance_score"])
        return web.json_response({"results": scored[1:] if self.fault == "short" else scored})


@contextmanager
def pooling_server(tls: ssl.SSLContext | None = None) -> Iterator[PoolingServer]:
    """Serve on a free port of loopback, in a thread of its own."""
    server = PoolingServer()
    loop = asyncio.new_event_loop()
    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/embeddings", server.embeddings)
    app.router.add_post("/v1/rerank", server.rerank)
    runner = web.AppRunner(app)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()
