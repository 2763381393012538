"""What the workers of a gateway tell each other: what each is doing now, and whether all shall drain.

Each writes a file once a second; whoever is asked reads them all. A single process needs no folder.

    board = Board(Path("/tmp/sovctl-gateway-x"), lambda: {"upstreams": [...]})
    board.workers()          # one mapping a worker
    board.drain()              # every worker says `draining` in /readyz within a second, and goes on serving
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from sovctl.support.atomic_files import write_atomic

TELL_EVERY_S = 1.0
_ALIVE_S = 5.0
_DRAIN = "drain"


class Board:
    """The workers' notice board.

    Args:
        folder: that the workers share; None for a process alone.
        tell: what this process is doing now, as plain values.
    """

    def __init__(self, folder: Path | None, tell: Callable[[], Mapping[str, Any]]) -> None:
        self._folder = folder
        self._tell = tell
        self._is_draining = False
        self._own = folder / f"{os.getpid()}.board" if folder is not None else None

    @property
    def is_draining(self) -> bool:
        """True when an operator has said so; as of the last `write`."""
        return self._is_draining

    def write(self) -> None:
        """Tell the others; hear whether to drain.

        Raises:
            OSError: the folder can't be written.
        """
        if self._folder is None or self._own is None:
            return
        self._is_draining = (self._folder / _DRAIN).exists()
        beside = self._own.with_suffix(".new")
        beside.write_bytes(orjson.dumps(self._mine()))
        beside.replace(self._own)

    def withdraw(self) -> None:
        """This worker ends."""
        if self._own is not None:
            self._own.unlink(missing_ok=True)

    def workers(self) -> list[dict[str, Any]]:
        """What each worker is doing, this one first."""
        found = [self._mine()]
        if self._folder is not None:
            for path in sorted(self._folder.glob("*.board")):
                with contextlib.suppress(OSError, ValueError):
                    told = orjson.loads(path.read_bytes())
                    if path != self._own and time.monotonic() - told["at"] < _ALIVE_S:
                        found.append(told)
        return found

    def drain(self, *, is_draining: bool = True) -> None:
        """Let a load balancer go elsewhere, or come back.

        Raises:
            OSError: the folder can't be written.
        """
        if self._folder is not None:
            if is_draining:
                write_atomic(self._folder / _DRAIN, b"")
            else:
                (self._folder / _DRAIN).unlink(missing_ok=True)
        self._is_draining = is_draining

    def _mine(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "at": time.monotonic(), **self._tell()}
