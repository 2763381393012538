"""An event of the site for a SIEM, from an entry of the ledger. Pure.

Ledger entries contain no personal data except names of operators, so that events need no redaction. Evidence entries
with verdict FAIL or UNKNOWN are findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sovctl.support.canonical_json import canonical_json, sha256_hex

from ..verdict import Verdict


class Severity(IntEnum):
    """Severity of an event; values of OCSF `severity_id`."""

    INFORMATIONAL = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4


_VERDICTS = {
    Verdict.FAIL: Severity.HIGH,
    Verdict.UNKNOWN: Severity.MEDIUM,
    Verdict.WARN: Severity.LOW,
}
_TYPES = {
    "apply-failed": Severity.MEDIUM,
    "apply-interrupted": Severity.MEDIUM,
    "node-breaker": Severity.MEDIUM,
    "node-removed": Severity.LOW,
    "recovered": Severity.MEDIUM,
}
"""Severities of other ledger entries; the default is INFORMATIONAL. Chosen by sovctl."""


@dataclass(frozen=True)
class Event:
    """One event.

    Args:
        index: index of the ledger entry.
        time: UTC as in the record or its run id; empty if the entry has no time.
        verdict: of an evidence entry; None for another entry.
        target: node, component or site; empty without one.
        sha256: digest of the record, so that the event can be compared with the ledger.
        record: content of the ledger entry.
    """

    origin: str
    index: int
    type: str
    time: str
    severity: Severity
    sha256: str
    record: Mapping[str, Any]
    verdict: Verdict | None = None
    check_id: str = ""
    target: str = ""
    simulated: bool = False


def event_of(origin: str, index: int, record: Mapping[str, Any]) -> Event:
    """Return the event of a ledger entry.

    Args:
        origin: name of the ledger.
    """
    kind = str(record.get("type", "unknown"))
    verdict = Verdict(str(record["verdict"])) if kind == "evidence" else None
    default = _TYPES.get(kind, Severity.INFORMATIONAL)
    return Event(
        origin=origin,
        index=index,
        type=kind,
        time=str(record.get("time", "")) or _time_of_run(str(record.get("run_id", ""))),
        severity=_VERDICTS.get(verdict, Severity.INFORMATIONAL) if verdict else default,
        sha256=sha256_hex(canonical_json(dict(record))),
        record=record,
        verdict=verdict,
        check_id=str(record.get("check_id", "")),
        target=str(record.get("target", record.get("node", ""))),
        simulated=record.get("simulated") is True,
    )


def _time_of_run(run_id: str) -> str:
    """Return the start of a run from its id, such as `20261121T101500Z-3fa9`; empty for another id."""
    stamp = next((part for part in run_id.split("-") if len(part) == 16 and part.endswith("Z")), "")
    digits = stamp.replace("T", "").removesuffix("Z")
    if len(digits) != 14 or not digits.isdecimal():
        return ""
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:15]}Z"
