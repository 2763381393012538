"""An event of the site for a SIEM, from an entry of the ledger. Pure.

Entries of the site's ledger contain no personal data except names of operators. Entries of a gateway contain ids, names
of the settings, codes, counts and digests: neither prompts nor answers, and persons as commitments. Evidence entries
with verdict FAIL or UNKNOWN are findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.support.canonical_json import canonical_json, sha256_hex

from ..verdict import Verdict
from .kinds import EventKind, Severity, kind_of

_VERDICTS = {
    Verdict.FAIL: Severity.HIGH,
    Verdict.UNKNOWN: Severity.MEDIUM,
    Verdict.WARN: Severity.LOW,
}


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
        kind: row of the table of events.
        is_refused: a request that the gateway refused.
    """

    origin: str
    index: int
    type: str
    kind: EventKind
    time: str
    severity: Severity
    sha256: str
    record: Mapping[str, Any]
    verdict: Verdict | None = None
    check_id: str = ""
    target: str = ""
    simulated: bool = False
    is_refused: bool = False

    @property
    def message(self) -> str:
        """One line without content of the record."""
        if self.verdict is not None:
            return f"{self.check_id} on {self.target}: {self.verdict.value}"
        return f"ledger entry {self.index}: {self.type}{' refused' if self.is_refused else ''}"


def event_of(origin: str, index: int, record: Mapping[str, Any]) -> Event:
    """Return the event of a ledger entry.

    Args:
        origin: name of the ledger.
    """
    record_type = str(record.get("type", "unknown"))
    verdict = Verdict(str(record["verdict"])) if record_type == "evidence" else None
    kind = kind_of(record_type)
    is_refused = record_type == "gateway.request" and record.get("upstream") is None
    severity = max(kind.severity, Severity.LOW) if is_refused else kind.severity
    return Event(
        origin=origin,
        index=index,
        type=record_type,
        kind=kind,
        time=str(record.get("time", "")) or _time_of_run(str(record.get("run_id", ""))),
        severity=_VERDICTS.get(verdict, Severity.INFORMATIONAL) if verdict else severity,
        sha256=sha256_hex(canonical_json(dict(record))),
        record=record,
        verdict=verdict,
        check_id=str(record.get("check_id", "")),
        target=str(record.get("target", record.get("node", ""))),
        simulated=record.get("simulated") is True,
        is_refused=is_refused,
    )


def _time_of_run(run_id: str) -> str:
    """Return the start of a run from its id, such as `20261121T101500Z-3fa9`; empty for another id."""
    stamp = next((part for part in run_id.split("-") if len(part) == 16 and part.endswith("Z")), "")
    digits = stamp.replace("T", "").removesuffix("Z")
    if len(digits) != 14 or not digits.isdecimal():
        return ""
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:15]}Z"
