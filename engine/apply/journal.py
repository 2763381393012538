"""What an apply did, one JSON line per event, on the disk before the next step starts.

A run that was killed leaves a journal without an end: `unfinished` finds it, and `--resume` goes on from what is
really on the nodes, never from what the journal believes.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from sovctl.support.atomic_files import sync_folder
from sovctl.support.errors import SovctlError

FINISHED = "finished"
"""The last event of a run that reached its end."""


class Journal:
    """One run's file, append-only. Use as a context manager."""

    def __init__(self, folder: Path, run_id: str, plan_sha256: str) -> None:
        self.path = folder / f"{run_id}.jsonl"
        self.run_id = run_id
        self.plan_sha256 = plan_sha256
        self._file: TextIO | None = None

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a")
        sync_folder(self.path.parent)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            with contextlib.suppress(OSError):  # a full disk was reported by `write`
                self._file.close()

    def write(self, event: str, **fields: Any) -> None:
        """One event; on return it is on the disk.

        Raises:
            SovctlError: it cannot be written; what it announces must not begin.
        """
        assert self._file is not None
        record = {"time": _now(), "event": event, "plan_sha256": self.plan_sha256, **fields}
        try:
            self._file.write(json.dumps(record, sort_keys=True) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SovctlError(
                f"expected to write the journal, got: {(error.strerror or 'no reason').lower()}",
                where=str(self.path),
                hint="nothing goes on without it; make room, then: sovctl apply --resume",
            ) from None


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Events of a run; a line torn by a crash, and whatever a power cut left behind it, is left out."""
    for line in path.read_text(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def newest(folder: Path) -> list[dict[str, Any]]:
    """Events of the newest run that began; empty when there was none."""
    runs = (list(read(path)) for path in sorted(folder.glob("*.jsonl"), reverse=True))
    return next(filter(None, runs), [])


def unfinished(folder: Path) -> str | None:
    """Plan digest of the newest run when that run did not reach its end, else None."""
    events = newest(folder)
    if not events or events[-1]["event"] == FINISHED:
        return None
    return str(events[0]["plan_sha256"])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
