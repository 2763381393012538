"""Verdicts of earlier runs, from the evidence entries of a ledger. Pure.

found = History.of(entry.record for entry in reader.entries() if entry.record.get("type") == "evidence")
found.first_failed[("disk.encrypted", "gpu-1")]       # 2026-11-02
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ..verdict import Verdict

_RUN_DAY = re.compile(r"(?:^|-)(\d{4})(\d{2})(\d{2})T\d{6}Z")
_BAD = {Verdict.FAIL.value, Verdict.UNKNOWN.value}


@dataclass
class History:
    """Verdicts by check id and target."""

    first_failed: dict[tuple[str, str], date] = field(default_factory=dict)
    """UTC day of the first FAIL or UNKNOWN since the last other verdict; absent if the last verdict is another."""
    last: dict[tuple[str, str], str] = field(default_factory=dict)
    """Newest verdict."""

    @classmethod
    def of(cls, leaves: Iterable[Mapping[str, Any]]) -> History:
        """Return the history of evidence entries in ledger order."""
        found = cls()
        for leaf in leaves:
            key = (str(leaf.get("check_id", "")), str(leaf.get("target", "")))
            verdict, day = str(leaf.get("verdict", "")), run_day(str(leaf.get("run_id", "")))
            found.last[key] = verdict
            if verdict not in _BAD:
                found.first_failed.pop(key, None)
            elif day is not None:
                found.first_failed.setdefault(key, day)
        return found


def run_day(run_id: str) -> date | None:
    """Return the UTC day of a run by its id; None if the id does not state one."""
    match = _RUN_DAY.search(run_id)
    if match is None:
        return None
    try:
        return date(*map(int, match.groups()))
    except ValueError:
        return None
