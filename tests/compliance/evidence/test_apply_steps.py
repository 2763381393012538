"""Steps of applies as evidence: found by the digest of their journal line, refused if the journal was edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.compliance.evidence.apply_steps import RECORDED, find_step, list_steps, plan_entry
from sovctl.compliance.evidence.lookup import ALTERED
from sovctl.compliance.evidence.runs import EvidenceDamaged
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey
from sovctl.engine.apply.journal import Journal

KEY = SigningKey.generate()


def applied(state: Path, run: str) -> None:
    """Write a journal as an apply does, and the record of its plan."""
    with Ledger.open(state / "ledger", origin="sovctl.bank/site", key=KEY) as ledger:
        ledger.append([{"type": "plan", "plan_sha256": "aa", "operator": "anna", "spec_sha256": "bb"}])

        def bind(kind: str, lines: int, sha256: str) -> None:
            record = {"type": kind, "run": run, "plan_sha256": "aa", "simulated": True}
            ledger.append([record | {"journal_lines": lines, "journal_sha256": sha256}])

        with Journal(state / "journal", run, "aa", bind) as journal:
            journal.write("started", changes=["n1/clock/chrony"])
            journal.write("role-started", node="n1", role="clock", items=1)
            journal.write("wave-proven", wave="canary", nodes=["n1"])
            journal.write("finished", done=1)


def reader_of(state: Path) -> LedgerReader:
    return LedgerReader(state / "ledger")


def test_lists_the_steps_of_the_newest_run_or_of_all(tmp_path: Path) -> None:
    applied(tmp_path, "run-1")
    applied(tmp_path, "run-2")
    steps = list_steps(tmp_path / "journal", reader_of(tmp_path))
    assert [(each.event, each.nodes, each.line, each.run) for each in steps] == [
        ("started", (), 1, "run-2"),
        ("role-started", ("n1",), 2, "run-2"),
        ("wave-proven", ("n1",), 3, "run-2"),
        ("finished", (), 4, "run-2"),
    ]
    assert {each.state for each in steps} == {RECORDED}
    assert len(list_steps(tmp_path / "journal", reader_of(tmp_path), every_run=True)) == 8


def test_finds_a_step_with_its_plan(tmp_path: Path) -> None:
    applied(tmp_path, "run-1")
    wanted = list_steps(tmp_path / "journal", reader_of(tmp_path))[1]
    found = find_step(tmp_path / "journal", reader_of(tmp_path), wanted.sha256[:12])
    assert found == wanted
    assert found.fields == {"node": "n1", "role": "clock", "items": 1}
    plan = plan_entry(reader_of(tmp_path), found.plan_sha256)
    assert plan is not None
    assert plan.record["operator"] == "anna"
    assert find_step(tmp_path / "journal", reader_of(tmp_path), "0" * 12) is None


@pytest.mark.parametrize("change", ["edited", "cut", "removed"])
def test_an_altered_step_is_marked_and_refused(tmp_path: Path, change: str) -> None:
    applied(tmp_path, "run-1")
    file = tmp_path / "journal" / "run-1.jsonl"
    wanted = list_steps(tmp_path / "journal", reader_of(tmp_path))[1]
    lines = file.read_text().splitlines(keepends=True)
    if change == "removed":
        file.unlink()
    else:
        file.write_text("".join(lines[:1] if change == "cut" else [each.replace("clock", "click") for each in lines]))
    altered = list_steps(tmp_path / "journal", reader_of(tmp_path))[1]
    assert (altered.state, altered.event, altered.sha256) == (ALTERED, "", wanted.sha256)
    with pytest.raises(EvidenceDamaged, match="line 2 of the journal differs"):
        find_step(tmp_path / "journal", reader_of(tmp_path), wanted.sha256)
