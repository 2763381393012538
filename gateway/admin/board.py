"""State that the workers of a gateway share: the work of each one, and whether all shall drain.

Each worker writes a file once a second, and any of them reads all files. A single process needs no folder.

    board = Board(Path("/tmp/sovctl-gateway-x"), lambda: {"upstreams": [...]})
    board.workers()          # one mapping per worker
    board.drain()            # every worker reports `draining` in /readyz within a second, and continues to serve
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
    """Shared state of the workers.

    Args:
        folder: shared by the workers; None for a single process.
        tell: returns the state of this process, as plain values.
    """

    def __init__(self, folder: Path | None, tell: Callable[[], Mapping[str, Any]]) -> None:
        self._folder = folder
        self._tell = tell
        self._is_draining = False
        self._own = folder / f"{os.getpid()}.board" if folder is not None else None

    @property
    def is_draining(self) -> bool:
        """An operator requested draining; as of the last `write`."""
        return self._is_draining

    def write(self) -> None:
        """Write this process's state, and read whether to drain.

        Raises:
            OSError: the folder is not writable.
        """
        if self._folder is None or self._own is None:
            return
        self._is_draining = (self._folder / _DRAIN).exists()
        beside = self._own.with_suffix(".new")
        beside.write_bytes(orjson.dumps(self._mine()))
        beside.replace(self._own)

    def withdraw(self) -> None:
        """Remove this worker's file."""
        if self._own is not None:
            self._own.unlink(missing_ok=True)

    def workers(self) -> list[dict[str, Any]]:
        """Return the state of each worker, this one first."""
        found = [self._mine()]
        if self._folder is not None:
            for path in sorted(self._folder.glob("*.board")):
                with contextlib.suppress(OSError, ValueError):
                    told = orjson.loads(path.read_bytes())
                    if path != self._own and time.monotonic() - told["at"] < _ALIVE_S:
                        found.append(told)
        return found

    def drain(self, *, is_draining: bool = True) -> None:
        """Start or stop draining.

        Raises:
            OSError: the folder is not writable.
        """
        if self._folder is not None:
            if is_draining:
                write_atomic(self._folder / _DRAIN, b"")
            else:
                (self._folder / _DRAIN).unlink(missing_ok=True)
        self._is_draining = is_draining

    def _mine(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "at": time.monotonic(), **self._tell()}
