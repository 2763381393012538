"""Lets a stream through its gate: events as they come, or when they have waited for too long.

async for piece in gated(gate, pieces): ...
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from .stream import StreamGate


async def gated(gate: StreamGate, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The events of `pieces` that have passed.

    Raises:
        AnswerWithheld: nothing more may go; what had passed before was given out.
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
    """The next piece; None when there is none."""
    return await anext(pieces, None)
