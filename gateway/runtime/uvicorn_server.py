"""uvicorn server that announces its stop, so that load balancers and clients move on before connections are refused."""

from __future__ import annotations

import signal
import socket
import time
from math import inf
from types import FrameType

import uvicorn

from ..telemetry import log


class UvicornServer(uvicorn.Server):
    """uvicorn server that logs when it accepts connections, and announces its stop.

    After the first SIGTERM `is_draining` is set for `/readyz`, and new requests are served with `connection: close` for
    `announce_s` seconds. Then, or after a second signal, it stops to accept connections.

    Args:
        site: for the log.
        announce_s: seconds.
    """

    is_draining = False

    def __init__(self, config: uvicorn.Config, *, site: str, announce_s: float) -> None:
        super().__init__(config)
        self._site = site
        self.announce_s = announce_s
        self._exit_at = inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the components, then the port: `serving` is logged after both."""
        with log.without("uvicorn.error"):  # the caller reports a failed start itself
            await super().startup(sockets)
        log.event("serving", site=self._site, port=self.config.port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Announce the stop after the first SIGTERM; stop after other signals."""
        is_first, self.is_draining = not self.is_draining, True
        if sig != signal.SIGTERM or not is_first or not self.announce_s:
            super().handle_exit(sig, frame)
            return
        self._captured_signals.append(sig)
        self._exit_at = time.monotonic() + self.announce_s
        self.config.encoded_headers.append((b"connection", b"close"))
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop; called ten times a second."""
        return await super().on_tick(counter) or time.monotonic() >= self._exit_at
