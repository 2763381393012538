"""Files of the folder `pending`: records that other processes left for the writer of a ledger; see `pending`."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.bounded_files import read_bounded

from . import format as layout
from . import state_files

FOLDER = "pending"
TYPES = frozenset({"audit-read", "heartbeat", *state_files.TYPES})
"""Types of records that a writer accepts from the folder."""


def paths(directory: Path) -> list[Path]:
    """Return the files of pending records of a ledger, oldest first; empty if the folder is absent or unreadable."""
    try:
        return sorted((directory / FOLDER).glob("[!.]*.json"))
    except OSError:
        return []


def read_record(path: Path) -> bytes:
    """Return the canonical JSON of a pending record; empty if the file is not one."""
    try:
        data = read_bounded(path, layout.MAX_RECORD_BYTES)
        value = layout.Entry(0, data, 0).record
    except Exception:  # noqa: BLE001 - any process of the group can leave files here
        return b""
    return data if value.get("type") in TYPES and layout.is_record(data) else b""
