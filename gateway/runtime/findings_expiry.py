"""Forgets what a worker remembers of texts, when the vault forgets values.

Changed settings, detectors and lists have a new memory, because the request handler is created again for them; a token
key changes at a restart. This task adds the remaining causes: an erasure by any process, and age.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sovctl.support.errors import SovctlError

from ..detect.findings_memory import FindingsMemory
from ..telemetry.metrics import Metrics
from ..vault import Vault

_CHECK_EVERY_S = 1.0  # one query of a small table


async def forget_findings(vault: Vault, memory_in_force: Callable[[], FindingsMemory | None], metrics: Metrics) -> None:
    """Forget all findings after every change of an erasure, and old ones by their age. Does not return.

    Args:
        memory_in_force: returns the memory of the current settings; None if it is turned off.
    """
    seen = None
    while True:
        try:
            progress = await vault.erasure_progress()
        except SovctlError:  # an erasure may go unnoticed; without a memory, texts are only scanned again
            progress = None
        memory = memory_in_force()
        if memory is not None:
            if progress != seen or progress is None:
                memory.clear()
            memory.purge()
        metrics.remembered_bytes.put(memory.size_bytes if memory is not None else 0)
        seen = progress
        await asyncio.sleep(_CHECK_EVERY_S)
