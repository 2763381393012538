"""Firmware that fwupd wrote and that is not active yet, from the history in fwupd's database.

The database is read without the daemon, because its start probes all devices. Source: fwupd/fwupd, `src/fu-history.c`
(columns) and `libfwupd/fwupd-enums.h` (state and flag), read 2026-11-27.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..unreadable import MALFORMED, Unreadable

_PROGRAM = """\
import json, os, sqlite3
path, rows = "/var/lib/fwupd/pending.db", []
if os.path.exists(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT display_name, update_state, flags, device_modified FROM history").fetchall()
print(json.dumps(rows))
"""
COMMANDS = {"firmware": ("python3", "-I", "-c", _PROGRAM)}
NEEDS_REBOOT = 4
"""FWUPD_UPDATE_STATE_NEEDS_REBOOT; also of devices that need a shutdown."""
NEEDS_SHUTDOWN = 1 << 17
"""FWUPD_DEVICE_FLAG_NEEDS_SHUTDOWN: only a power cycle activates the firmware."""


@dataclass(frozen=True, slots=True)
class WrittenFirmware:
    """Firmware of a device that waits for its activation.

    Args:
        written_s: Unix time.
    """

    device: str
    needs_power_cycle: bool
    written_s: int


def parse_history(text: str) -> tuple[WrittenFirmware, ...]:
    """Parse the output of the command `firmware`; empty without fwupd, or if all firmware is active.

    Raises:
        Unreadable: the output has another format.
    """
    try:
        rows = [(str(name), int(state), int(flags), int(modified)) for name, state, flags, modified in json.loads(text)]
    except MALFORMED:
        raise Unreadable("rows of fwupd's history", text, where="/var/lib/fwupd/pending.db") from None
    return tuple(
        WrittenFirmware(name, bool(flags & NEEDS_SHUTDOWN), modified)
        for name, state, flags, modified in rows
        if state == NEEDS_REBOOT
    )
