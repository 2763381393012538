"""Hash chain of the lines of a journal: every line contains the SHA-256 of the line before it, as `previous`.

The ledger contains number and SHA-256 of every line. A line also proves all lines before it. Pure.
"""

from __future__ import annotations

import json

from sovctl.support.plain_json import sha256_hex

FIRST = "0" * 64
"""`previous` of the first line."""
STEP = "apply-step"
"""Type of the ledger records of the lines between start and end of a run."""
CLOSING = ("apply-finished", "apply-failed", "apply-interrupted")
"""Types of the ledger record of the last line of a run."""
PREVIOUS = "previous"


def complete_lines(data: bytes) -> list[bytes]:
    """Return the lines of a journal without their line ends; omits a last line that a crash cut."""
    return data.split(b"\n")[:-1]


def head(data: bytes) -> tuple[int, str]:
    """Return number and SHA-256 of the last complete line; 0 and `FIRST` without one."""
    lines = complete_lines(data)
    return len(lines), sha256_hex(lines[-1]) if lines else FIRST


def first_break(lines: list[bytes]) -> int | None:
    """Return the number of the first line that does not continue the chain, from 1; None if all lines do."""
    expected = FIRST
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return number
        if not isinstance(record, dict) or record.get(PREVIOUS) != expected:
            return number
        expected = sha256_hex(line)
    return None
