"""Client connections that become a WebSocket: `GET /v1/realtime`, after `DeadlineProtocol` has read the head.

    uvicorn.Config(..., ws=RealtimeProtocol, ws_max_size=MAX_EVENT_BYTES, ws_ping_interval=None)
    scope["state"][STOPPING]      # asyncio.Event: the gateway stops, and the application ends the session
    scope["state"][ABORT]         # closes the connection immediately

- uvicorn would close sessions at once when the server stops. Here the application completes an utterance first.
- The handshake is checked with the headers that it consists of. The application reads all headers of the request,
  because websockets 17 accepts lines of at most 8 KiB, and a token of an identity provider may have 16 KiB.
- A connection is aborted if its client does not read the end of the session.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from ..domain.errors import Headers
from .upgrade import ABORT, STOPPING

_ABORT_S = 15.0  # from the end of the application; longer than uvicorn's `close_timeout` of 10 s
_HANDSHAKE = frozenset({b"host", b"connection", b"upgrade"})
_PREFIX = b"sec-websocket-"


class RealtimeProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol with an orderly stop."""

    request_headers: Headers
    """All headers of the request that was upgraded."""
    _abort_timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport, target: bytes, headers: Headers) -> None:
        """Take over the connection of a request with an upgrade."""
        self.request_headers = headers
        self.stopping = asyncio.Event()
        self.connection_made(transport)
        lines = [b"%b: %b\r\n" % each for each in headers if each[0] in _HANDSHAKE or each[0].startswith(_PREFIX)]
        self.data_received(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, b"".join(lines)))

    def handle_connect(self, event: Request) -> None:
        """Give the application all headers; its task has not begun yet."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope["headers"] = self.request_headers
            self.scope["state"].update({STOPPING: self.stopping, ABORT: self.transport.abort})

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Abort the connection later, unless it is closed until then."""
        super().on_task_complete(task)
        if not self.disconnected:
            self._abort_timer = self.loop.call_later(_ABORT_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        if self._abort_timer is not None:
            self._abort_timer.cancel()

    def shutdown(self) -> None:
        """Let the application end the session."""
        self.stopping.set()
