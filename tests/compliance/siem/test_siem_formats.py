"""Golden files of the formats for a SIEM: the same events as OCSF, ECS and CEF.

After an intended change, `write()` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.ledger.record_types import RECORD_TYPES
from sovctl.compliance.siem import cef, ecs, ocsf
from sovctl.compliance.siem.event import event_of
from sovctl.compliance.siem.kinds import KINDS

CASES = Path(__file__).parents[2] / "cases" / "siem"
RENDERINGS: dict[str, Callable[..., str]] = {"ocsf": ocsf.line, "ecs": ecs.line, "cef": cef.line}
ODD = "a=b|c\\d\ne\rf"
"""Characters that CEF escapes."""
EVIDENCE = {"type": "evidence", "run_id": "20261121T101500Z-3fa9", "sha256": "a" * 64, "check_id": "clock.drift"}
REQUEST = {
    "type": "gateway.request",
    "time": "2026-11-21T10:00:01Z",
    "surface": "chat.completions",
    "client": "branch",
    "model": "assistant",
    "verdict": "leave",
    "entity_types": {"IBAN": 2},
    "request_hmac": "b" * 64,
}
RECORDS: list[dict[str, Any]] = [
    *(EVIDENCE | {"target": f"n{n}", "verdict": v} for n, v in enumerate(("PASS", "WARN", "FAIL", "UNKNOWN", "N/A"))),
    EVIDENCE | {"target": ODD, "verdict": "FAIL", "simulated": True},
    {"type": "apply-started", "time": "2026-11-21T10:00:00Z", "site": "bank", "changes": 3},
    {"type": "apply-failed", "time": "2026-11-21T10:05:00Z", "node": "n1"},
    REQUEST | {"upstream": "chat"},
    REQUEST | {"upstream": None, "verdict": "block", "reasons": ["entity-type-blocked:IBAN"]},
    {"type": "gateway.admin", "time": "2026-11-21T10:06:00Z", "action": "handoff-answer", "key_id": "k1"},
    {"type": ODD, "time": "2026-11-21T10:07:00Z"},
]


def text(name: str) -> str:
    events = [event_of("sovctl.bank/site", index, record) for index, record in enumerate(RECORDS)]
    return "".join(f"{RENDERINGS[name](each, tool_version='0.1.0')}\n" for each in events)


def write() -> None:
    """Write the golden files."""
    for name in RENDERINGS:
        (CASES / f"{name}.txt").write_text(text(name))


@pytest.mark.parametrize("name", RENDERINGS)
def test_events_are_those_of_the_golden_file(name: str) -> None:
    assert text(name) == (CASES / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", RENDERINGS)
def test_every_event_is_one_line(name: str) -> None:
    assert len(text(name).splitlines()) == len(RECORDS)


def test_every_row_of_the_table_is_a_type_that_is_written() -> None:
    assert set(KINDS) <= set(RECORD_TYPES)


def test_ecs_has_the_values_that_the_schema_allows() -> None:
    rows = [json.loads(line) for line in text("ecs").splitlines()]
    assert {row["event"]["kind"] for row in rows} == {"alert", "event"}
    assert {row["event"]["outcome"] for row in rows} <= {"success", "failure", "unknown"}
    # ECS 8.17, event.category and event.type.
    categories = {"configuration", "database", "host", "iam", "package", "process", "vulnerability", "web"}
    types = {"access", "admin", "allowed", "change", "creation", "deletion", "denied", "end", "error", "info"}
    assert {each.category for each in KINDS.values()} <= categories
    assert {each.type for each in KINDS.values()} <= types | {"installation", "start"}


def test_a_refused_request_is_a_failure_of_low_severity() -> None:
    (refused,) = (row for row in map(json.loads, text("ecs").splitlines()) if row["message"].endswith("refused"))
    assert (refused["event"]["outcome"], refused["event"]["severity"]) == ("failure", 2)
