"""Renders events as CEF, one line each. Pure.

    CEF:0|sovctl|sovctl|0.1.0|evidence|clock.drift FAIL|7|externalId=12 ...

Backslash and pipe are escaped in the header; backslash, equals sign and line breaks in the extension. Source: ArcSight
Common Event Format, revision 25 (2017), "Character Encoding"; severities 0 to 10.
"""

from __future__ import annotations

from datetime import datetime

from .event import Event
from .kinds import Severity

_SEVERITIES = {Severity.INFORMATIONAL: 2, Severity.LOW: 4, Severity.MEDIUM: 6, Severity.HIGH: 8}


def line(event: Event, *, tool_version: str) -> str:
    """Return the event as one line, without newline."""
    name = f"{event.check_id} {event.verdict.value}" if event.verdict else event.type
    head = ("CEF:0", "sovctl", "sovctl", tool_version, event.type, name, str(_SEVERITIES[event.severity]))
    fields = {
        "rt": str(int(datetime.fromisoformat(event.time).timestamp() * 1000)) if event.time else "",
        "externalId": str(event.index),
        "dvchost": event.origin,
        "dhost": event.target,
        "cat": event.kind.category,
        "act": event.kind.type,
        "outcome": event.verdict.value if event.verdict else ("refused" if event.is_refused else ""),
        "fileHash": event.sha256,
        "cs1Label": "runId",
        "cs1": str(event.record.get("run_id", event.record.get("run", ""))),
        "cs2Label": "simulated",
        "cs2": str(event.simulated).lower(),
    }
    extension = " ".join(f"{key}={_extension(value)}" for key, value in fields.items() if value)
    return "|".join([head[0], *map(_header, head[1:]), extension])


def _header(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ")


def _extension(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("=", "\\=")
    return escaped.replace("\r", "\\r").replace("\n", "\\n")
