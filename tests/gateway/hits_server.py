"""A server on loopback with the interface of the retrieval service, whose chunks a test writes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class HitsServer:
    """Answers every search with `texts`."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.texts: list[str] = []
        self.title = "Handbook"
        self.status = 200
        self.searches: list[dict[str, Any]] = []
        self.claims: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any], principal: str) -> dict[str, Any]:
        """Return the answer to a search, and keep the search."""
        claims = principal.split(".")[1]
        self.searches.append(body)
        self.claims.append(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))))
        hits = [self._hit(number, text) for number, text in enumerate(self.texts)]
        return {"collection": body["collection"], "hits": hits[: body["k"]]}

    def _hit(self, number: int, text: str) -> dict[str, Any]:
        return {
            "chunk_id": f"sha256:{number:064x}",
            "document_id": f"00000000-0000-4000-8000-{number:012x}",
            "source_id": f"file-{number}.md",
            "title": self.title,
            "version": f"sha256:{number:064x}",
            "page": None,
            "start": 0,
            "end": len(text),
            "language": "en",
            "text": text,
            "score": 1 - number / 100,
            "extractor": "text 1",
        }


@contextmanager
def hits_server() -> Iterator[HitsServer]:
    """Serve until the end of the context."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            content = json.dumps(made.answer(body, self.headers["x-sovctl-principal"])).encode()
            self.send_response(made.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = HitsServer(server.server_address[1])
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
