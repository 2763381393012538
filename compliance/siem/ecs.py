"""Renders events as ECS 8.17, one JSON object per line. Pure.

The content of the ledger entry is in `sovctl.record`. Fields and allowed values: Elastic Common Schema 8.17,
`event.kind`, `event.category`, `event.type` and `event.outcome`.
"""

from __future__ import annotations

import json
from typing import Any

from ..verdict import Verdict
from .event import Event

VERSION = "8.17.0"
_OUTCOMES = {Verdict.PASS: "success", Verdict.WARN: "success", Verdict.FAIL: "failure"}


def line(event: Event, *, tool_version: str) -> str:
    """Return the event as one line, without newline."""
    return json.dumps(_value(event, tool_version), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _value(event: Event, tool_version: str) -> dict[str, Any]:
    is_finding = event.verdict in (Verdict.FAIL, Verdict.UNKNOWN)
    value: dict[str, Any] = {
        "ecs": {"version": VERSION},
        "event": {
            "kind": "alert" if is_finding else "event",
            "category": [event.kind.category],
            "type": [event.kind.type],
            "action": event.type,
            "outcome": _outcome(event),
            "severity": int(event.severity),
            "id": f"{event.origin}#{event.index}",
            "hash": event.sha256,
            "sequence": event.index,
            "provider": "sovctl",
            "dataset": "sovctl.ledger",
        },
        "observer": {"vendor": "sovctl", "product": "sovctl", "version": tool_version},
        "message": event.message,
        "labels": {"simulated": str(event.simulated).lower()},
        "sovctl": {"origin": event.origin, "record": dict(event.record)},
    }
    if event.time:
        value["@timestamp"] = event.time
    if event.check_id:
        value["rule"] = {"id": event.check_id, "name": event.check_id, "ruleset": "sovctl checks"}
    if event.target:
        value["host"] = {"name": event.target.partition("/")[0]}
        value["service"] = {"name": event.target}
    return value


def _outcome(event: Event) -> str:
    if event.verdict is not None:
        return _OUTCOMES.get(event.verdict, "unknown")
    return "failure" if event.kind.is_failure or event.is_refused else "unknown"
