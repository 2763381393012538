"""Journal of an apply: one JSON line for each event, written to disk before the next step starts.

The lines are a hash chain (`compliance/journal_chain.py`). Number and SHA-256 of every line are appended to the ledger,
so that `sovctl audit verify` finds an edited journal, and names the first changed line.

The journal of a killed run has no `finished` event, which `unfinished` detects. `--resume` computes the remaining
changes from a new observation of the nodes, not from the journal.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from sovctl.compliance import journal_chain
from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import SovctlError

FINISHED = "finished"
"""Last event of a complete run."""
UNPROVEN = "unproven"
"""Nodes of earlier runs without a proof, with the resource types that changed."""
RECHECKED = "rechecked"
"""Nodes of `UNPROVEN` whose checks passed."""
BOUND = {
    "started": "apply-started",
    "wave-proven": "apply-wave",
    "failed": "apply-failed",
    "interrupted": "apply-interrupted",
    FINISHED: "apply-finished",
}
"""Types of ledger records by event; other events have `journal_chain.STEP`."""

Bind = Callable[[str, int, str], object]
"""Appends a record to the ledger: its type, number and SHA-256 of the journal's newest line."""


class Journal:
    """Append-only file of one run. Use it as a context manager.

    Args:
        run_id: name of the file; must be new.
        bind: called after each event.
    """

    def __init__(self, folder: Path, run_id: str, plan_sha256: str, bind: Bind = lambda *_: None) -> None:
        self.path = folder / f"{run_id}.jsonl"
        self.run_id = run_id
        self.plan_sha256 = plan_sha256
        self._bind = bind
        self._lines, self._head = 0, journal_chain.FIRST
        self._file: TextIO | None = None

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("x")
        sync_folder(self.path.parent)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            with contextlib.suppress(OSError):  # a full disk was reported by `write`
                self._file.close()

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file."""
        assert self._file is not None
        return self._file.fileno()

    def write(self, event: str, **fields: Any) -> None:
        """Write one event to disk.

        Raises:
            SovctlError: the event cannot be written; its step must not begin.
        """
        assert self._file is not None
        record = {"time": _now(), "event": event, "plan_sha256": self.plan_sha256, **fields}
        line = json.dumps(record | {journal_chain.PREVIOUS: self._head}, sort_keys=True)
        try:
            self._file.write(line + "\n")
            self._file.flush()
            os.fsync(self.descriptor)
        except OSError as error:
            raise SovctlError(
                f"cannot write the journal: {(error.strerror or 'unknown reason').lower()}",
                where=str(self.path),
                hint="the apply stopped; free disk space, then: sovctl apply --resume",
            ) from None
        self._lines, self._head = self._lines + 1, sha256_hex(line)
        self._bind(BOUND.get(event, journal_chain.STEP), self._lines, self._head)


def newest_line(folder: Path) -> tuple[str, int, str] | None:
    """Return run, number and SHA-256 of the newest run's last complete line; None without one."""
    for path in sorted(folder.glob("*.jsonl"), reverse=True):
        lines, sha256 = journal_chain.head(path.read_bytes())
        if lines:
            return path.stem, lines, sha256
    return None


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a run up to the first incomplete line, which a crash or a power failure can cause."""
    for line in path.read_text(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def newest(folder: Path) -> list[dict[str, Any]]:
    """Return the events of the newest run; empty without a run."""
    runs = (list(read(path)) for path in sorted(folder.glob("*.jsonl"), reverse=True))
    return next(filter(None, runs), [])


def unproven(events: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the resource types that runs changed, by node without a proof since, from the events of the newest run.

    Such a node differs from site.yaml no longer, so that no plan names it, and its checks are still due.
    """
    found: dict[str, set[str]] = {}
    for event in events:
        if event["event"] == UNPROVEN:
            for node, kinds in event["nodes"].items():
                found.setdefault(node, set()).update(kinds)
        elif event["event"] == "wave-started":
            for change in event["changes"]:
                node, kind, _ = change.split("/", 2)
                found.setdefault(node, set()).add(kind)
        elif event["event"] in ("wave-proven", RECHECKED):
            for node in event["nodes"]:
                found.pop(node, None)
    return {node: sorted(kinds) for node, kinds in sorted(found.items())}


def unfinished(folder: Path) -> str | None:
    """Return the digest of the newest run's plan; None if that run is complete, or without a run."""
    events = newest(folder)
    if not events or events[-1]["event"] == FINISHED:
        return None
    return str(events[0]["plan_sha256"])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
