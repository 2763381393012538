"""A webhook's receiver on loopback: keeps what came, and answers as a test says."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Call:
    """One call."""

    headers: dict[str, str]
    body: bytes


class WebhookReceiver:
    """Use as a context manager."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.statuses: deque[int] = deque()
        """What to answer next; 204 when there is nothing."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.calls.append(Call({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(receiver.statuses.popleft() if receiver.statuses else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/handoffs"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
