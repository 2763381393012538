"""Renders events as OCSF 1.3.0, one JSON object per line. Pure.

Evidence entries are Compliance Findings (class 2003). Other entries are Base Events (class 0), because OCSF has no
class of entries of a transparency log; their content is in `unmapped`.

Source: schema.ocsf.io 1.3.0, classes compliance_finding and base_event.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from ..verdict import Verdict
from .event import Event

VERSION = "1.3.0"
_CAPTIONS = {1: "Informational", 2: "Low", 3: "Medium", 4: "High"}
_STATUSES = {  # compliance.status_id: 0 unknown, 1 pass, 2 warning, 3 fail, 99 other
    Verdict.PASS: (1, "Pass"),
    Verdict.WARN: (2, "Warning"),
    Verdict.FAIL: (3, "Fail"),
    Verdict.UNKNOWN: (0, "Unknown"),
    Verdict.NOT_APPLICABLE: (99, "Not applicable"),
}


def line(event: Event, *, tool_version: str) -> str:
    """Return the event as one line, without newline."""
    value = _common(event, tool_version) | (_finding(event) if event.verdict else _base(event))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _common(event: Event, tool_version: str) -> dict[str, Any]:
    value: dict[str, Any] = {
        "severity_id": int(event.severity),
        "severity": _CAPTIONS[int(event.severity)],
        "metadata": {
            "version": VERSION,
            "product": {"name": "sovctl", "vendor_name": "sovctl", "version": tool_version},
            "log_name": event.origin,
            "uid": f"{event.origin}#{event.index}",
            "labels": ["simulated"] if event.simulated else [],
        },
        "unmapped": {"ledger_index": event.index, "record_sha256": event.sha256, "record": dict(event.record)},
        "time": _milliseconds(event.time),
    }
    return value


def _finding(event: Event) -> dict[str, Any]:
    status_id, status = _STATUSES[event.verdict or Verdict.UNKNOWN]
    return {
        "class_uid": 2003,
        "class_name": "Compliance Finding",
        "category_uid": 2,
        "category_name": "Findings",
        "activity_id": 1,
        "activity_name": "Create",
        "type_uid": 200301,
        "type_name": "Compliance Finding: Create",
        "finding_info": {"uid": str(event.record.get("sha256", "")), "title": event.check_id},
        "compliance": {
            "control": event.check_id,
            "standards": ["sovctl checks"],
            "status_id": status_id,
            "status": status,
        },
        "resources": [{"name": event.target, "uid": event.target}],
        "message": f"{event.check_id} on {event.target}: {status}",
    }


def _base(event: Event) -> dict[str, Any]:
    return {
        "class_uid": 0,
        "class_name": "Base Event",
        "category_uid": 0,
        "category_name": "Uncategorized",
        "activity_id": 99,
        "activity_name": event.type,
        "type_uid": 99,
        "type_name": f"Base Event: {event.type}",
        "message": event.message,
    }


def _milliseconds(time: str) -> int:
    """Return Unix time in milliseconds; 0 for an entry without time."""
    return int(datetime.fromisoformat(time).timestamp() * 1000) if time else 0
