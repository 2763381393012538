"""Differences as JSON lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from planned_nodes import empty, planned
from strategies import context

from sovctl.engine.plan.build import changes
from sovctl.engine.plan.drift import append_lines, lines
from sovctl.engine.plan.file import Plan
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)


def plan(*, unknown: dict[str, str] | None = None) -> Plan:
    facts = {**planned("lab")[0], "n2": empty("n2")}
    found = tuple(changes(context("lab"), facts))
    seen = dict.fromkeys(facts, "digest")
    return Plan("lab", "2026-11-27T09:00:00Z", "0", "a", "b", seen, True, found, (), unknown=unknown or {})


def test_every_difference_and_unknown_node_is_a_line_and_the_summary_is_last() -> None:
    made = plan(unknown={"n9": "timed out"})
    *rows, unknown, summary = [json.loads(text) for text in lines(made, now=NOW)]
    assert [row["id"] for row in rows] == [change.id for change in made.changes]
    assert {row["event"] for row in rows} == {"difference"}
    assert (unknown["event"], unknown["node"], unknown["why"]) == ("unknown", "n9", "timed out")
    assert (summary["differences"], summary["unknown"], summary["nodes"]) == (len(made.changes), 1, 3)
    assert all(row["time"] == "2026-11-27T09:00:00Z" for row in rows)


def test_runs_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "drift.jsonl"
    for _ in range(2):
        append_lines(path, ['{"a": 1}', '{"b": 2}'])
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n' * 2


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write: is a directory") as error:
        append_lines(tmp_path, ["{}"])
    assert error.value.where == str(tmp_path)
