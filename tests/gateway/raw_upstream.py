"""An upstream that answers with exactly the bytes a test gives it, and keeps what it was sent.

with RawUpstream() as upstream:
    upstream.plan = [*stream(b"data: garbage\\n\\n"), HOLD]
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Any, Self

RESET = object()
"""End the connection with a TCP reset instead of an orderly close."""
HOLD = object()
"""Say nothing more until the other end closes or the test is over."""
GATE = object()
"""Wait until the test opens the gate: the client has seen what was sent so far."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def stream(*pieces: bytes) -> list[bytes]:
    """A chunked event stream of these pieces, without its end."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)]


def whole(body: bytes, *, length: int | None = None, kind: bytes = b"application/json") -> list[bytes]:
    """An answer with this body; `length` is what it claims."""
    said = len(body) if length is None else length
    return [b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (kind, said, body)]


END_OF_STREAM = b"0\r\n\r\n"


@dataclass
class RawUpstream:
    """Use as a context manager. Answers every request with `plan`, then closes."""

    plan: list[Any] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._server.getsockname()[1]
        self._over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self.raw.append(_request(client))
            for step in self.plan:
                if step is GATE:
                    self.gate.wait(60)
                elif step is RESET:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                elif step is HOLD:
                    client.settimeout(0.1)
                    while not self._over.is_set():
                        with contextlib.suppress(TimeoutError):
                            if not client.recv(65536):
                                return
                else:
                    client.sendall(step)


def _request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(found.group(1)) if (found := _LENGTH.search(head)) else 0
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body
