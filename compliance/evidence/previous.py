"""Newest results in a ledger, by check and target."""

from __future__ import annotations

from collections.abc import Iterable

from ..ledger.reader import LedgerReader
from ..verdict import Verdict
from .layout import is_run_id, is_sha256
from .record import Previous

_FIRST_STEP = 4096
"""Entries of the first step backwards; doubled by each further step. A run has its results together, near the end."""


def previous_results(reader: LedgerReader, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Previous]:
    """Return the newest result by check id and target. Keys without a result are absent.

    Reads the ledger backwards until every key has a result.
    """
    wanted, found = set(keys), dict[tuple[str, str], Previous]()
    end, step = reader.checkpoint.size, _FIRST_STEP
    while end > 0 and wanted:
        start = max(0, end - step)
        newest = {}
        for entry in reader.entries(start=start):
            if entry.leaf_index >= end:
                break
            if b'"type":"evidence"' not in entry.data or (leaf := entry.record).get("type") != "evidence":
                continue
            key = (str(leaf.get("check_id")), str(leaf.get("target")))
            if key in wanted and is_run_id(leaf.get("run_id")) and is_sha256(leaf.get("sha256")):
                newest[key] = Previous(
                    verdict=Verdict(leaf["verdict"]),
                    run_id=leaf["run_id"],
                    sha256=leaf["sha256"],
                    leaf_index=entry.leaf_index,
                )
        found |= newest
        wanted -= newest.keys()
        end, step = start, step * 2
    return found
