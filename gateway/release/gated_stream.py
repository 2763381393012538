"""Releases a stream through its gate: events as they pass, or when they were held for too long.

async for chunk in gated(gate, chunks): ...
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from .stream import StreamGate


async def gated(gate: StreamGate, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the events of `pieces` that pass the checks.

    Raises:
        AnswerWithheld: a check failed; the events before it were yielded.
    """
    coming: asyncio.Task[bytes | None] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.create_task(_next(pieces), name="next events")
            wait_s = None if gate.deadline is None else max(0.0, gate.deadline - time.monotonic())
            await asyncio.wait((coming,), timeout=wait_s)
            if not coming.done():
                released = gate.force()
            else:
                piece, coming = coming.result(), None
                if piece is None:
                    break
                released = gate.feed(piece)
            if released:
                yield released
            gate.check()
        if released := gate.flush():
            yield released
        gate.check()
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await pieces.aclose()


async def _next(pieces: AsyncGenerator[bytes]) -> bytes | None:
    """Return the next chunk; None at the end."""
    return await anext(pieces, None)
