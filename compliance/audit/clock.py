"""Checks that the times in a ledger do not go back: a clock set back could give a record an earlier time.

A clock is corrected in small steps; a step back of at most `TOLERANCE_S` seconds is not a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from ..evidence.layout import RUNS, record_file_name
from ..ledger.format import Entry
from ..ledger.reader import LedgerReader
from .files import content, parse_object
from .result import AuditResult

TOLERANCE_S = 60.0  # chosen; larger than the steps of an NTP client in service
_TIME = re.compile(rb'"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d')
_EVIDENCE = b'"type":"evidence"'


def check_times(reader: LedgerReader, result: AuditResult, *, evidence: Path | None = None) -> None:
    """Add a finding for each entry whose time is more than `TOLERANCE_S` before that of an earlier entry.

    Args:
        evidence: the evidence folder, for the times of evidence entries; None: only entries with a time.
    """
    latest: tuple[datetime, int] | None = None
    for index, text in _times(reader, evidence):
        time = parsed_time(text)
        if time is None:
            continue
        back_s = (latest[0] - time).total_seconds() if latest else 0.0
        if latest and back_s > TOLERANCE_S:
            message = f"the time of entry {index} is {round(back_s)} s before that of entry {latest[1]}"
            result.find("clock", message, first_index=index)
        if latest is None or time >= latest[0] or back_s > TOLERANCE_S:  # later entries are compared with the new clock
            latest = (time, index)


def _times(reader: LedgerReader, evidence: Path | None) -> Iterator[tuple[int, str]]:
    """Yield index and time of entries. The records of one evidence run are appended together, in any order of time."""
    for run_id, entries in groupby(reader.entries(), key=lambda entry: _run_of(entry) if evidence else ""):
        if run_id and evidence:
            ended = [(_ended(evidence, entry.record), entry.leaf_index) for entry in entries]
            yield ended[0][1], max(text for text, _ in ended)
            continue
        for entry in entries:
            if _TIME.search(entry.data):
                yield entry.leaf_index, str(entry.record.get("time", ""))


def _run_of(entry: Entry) -> str:
    return str(entry.record.get("run_id", "")) if _EVIDENCE in entry.data else ""


def _ended(evidence: Path, leaf: dict[str, Any]) -> str:
    name = record_file_name(str(leaf.get("check_id")), str(leaf.get("target")), str(leaf.get("sha256")))
    try:
        return str(parse_object(content(evidence / RUNS / Path(str(leaf.get("run_id"))).name / name) or b"")["ended"])
    except (ValueError, KeyError):
        return ""  # already a finding of `evidence`


def parsed_time(text: str) -> datetime | None:
    """Return the time of a record, in UTC if it has no offset; None if it is not one."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
