"""The upgrade to a WebSocket: which requests ask for it, and what takes over their connection."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ..domain.errors import Headers

PATH = b"/v1/realtime"
MAX_EVENT_BYTES = 256 << 10
"""Maximum size of a client's event: 6 s of audio in base64. vLLM's example sends 0.13 s (4,096 bytes, read 2026-11)."""
STOPPING = "sovctl.stopping"
"""Key in `scope["state"]` of an event that is set when the gateway stops."""
ABORT = "sovctl.abort"
"""Key in `scope["state"]` of a function that closes the connection immediately."""


class Successor(Protocol):
    """The protocol that takes over a connection; see `websockets`, which is imported only if a pool serves it."""

    def begin(self, transport: asyncio.Transport, target: bytes, headers: Headers) -> None:
        """Take over the connection of a request with an upgrade."""


def is_websocket(method: bytes, target: bytes, headers: Headers) -> bool:
    """Return whether a request with an upgrade asks for the WebSocket of realtime transcription."""
    upgrades = [value.lower() for name, value in headers if name == b"upgrade"]
    return method == b"GET" and target.partition(b"?")[0] == PATH and upgrades == [b"websocket"]
