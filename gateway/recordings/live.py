"""Audio of one utterance while it arrives: a bounded queue that measures and hashes its content.

live = LiveRecording(audit.hasher())
await live.put(pcm)                  # waits while the queue is full
await live.end()
async for chunk in live.chunks(): ...
live.measured()                      # Recording(duration_ms=1000, size_bytes=32000, hmac="...")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from ..domain.errors import Refused
from .recording import Recording

BYTES_PER_S = 32_000
"""PCM, 16 bits, 16 kHz, mono: the format of vLLM 0.32.0 (speech_to_text/realtime/protocol.py, read 2026-11)."""
_CHUNKS = 4  # with the longest event: about 24 s of audio


class Hasher(Protocol):
    """A keyed hash."""

    def update(self, data: bytes, /) -> None:
        """Add data."""

    def hexdigest(self) -> str:
        """Return the digest of the data so far."""


class LiveRecording:
    """Audio of one utterance.

    Args:
        hasher: keyed hash of the audio.
    """

    def __init__(self, hasher: Hasher) -> None:
        self._hasher = hasher
        self._size_bytes = 0
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_CHUNKS)
        self.ended = asyncio.Event()
        """The audio is complete."""
        self.failed: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()
        """Why the utterance must end early; its result is set by `fail`."""

    async def put(self, pcm: bytes) -> None:
        """Add audio; wait while the queue is full."""
        self._size_bytes += len(pcm)
        self._hasher.update(pcm)
        await self._queue.put(pcm)

    async def end(self) -> None:
        """Mark the audio as complete."""
        await self._queue.put(None)
        self.ended.set()

    def fail(self, refused: Refused) -> None:
        """End the utterance early; the first reason applies."""
        if not self.failed.done():
            self.failed.set_result(refused)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the audio, to its end."""
        while (pcm := await self._queue.get()) is not None:
            yield pcm

    def measured(self) -> Recording:
        """Return the facts of the audio that has arrived."""
        duration_ms = self._size_bytes * 1000 // BYTES_PER_S
        return Recording(duration_ms, self._size_bytes, self._hasher.hexdigest())
