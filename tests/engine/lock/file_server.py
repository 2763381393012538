"""HTTP server of files on loopback, with faults that a test selects."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serves bytes by path, with ranges.

    Args:
        cut: bytes of the body after which the first answer for a path ends.
        failures: status codes of the first answers for a path, in order.
        ranges: whether ranges are served.
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.ranges = files, True
        self.cut: dict[str, int] = {}
        self.failures: dict[str, list[int]] = {}
        self.requests: list[tuple[str, str]] = []
        self.at_once, self.most_at_once, self.guard = 0, 0, threading.Lock()
        self.barrier: threading.Barrier | None = None

    @property
    def url(self) -> str:
        """URL of the root, without a slash at the end."""
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> FileServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        with self.server.guard:
            self.server.requests.append((self.path, wanted))
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
            codes = self.server.failures.get(self.path)
            code = codes.pop(0) if codes else 200
        if self.server.barrier:
            self.server.barrier.wait(10)
        data = self.server.files.get(self.path)
        if code != 200 or data is None:
            self.send_response(404 if data is None else code)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(data, wanted)
        with self.server.guard:
            self.server.at_once -= 1

    def _send(self, data: bytes, wanted: str) -> None:
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.server.ranges else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        cut = self.server.cut.pop(self.path, None)
        self.wfile.write(data[start:] if cut is None else data[start : start + cut])
        self.close_connection = cut is not None

    def log_message(self, *_args: object) -> None:
        """Print nothing."""
