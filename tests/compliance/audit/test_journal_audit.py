"""An edited, shortened or removed journal of an apply is found, up to its last line in the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from evidence_specimens import open_ledger

from sovctl.compliance.audit.site import audit
from sovctl.engine.apply.journal import Journal, newest_line

EVENTS = ("started", "wave-started", "wave-proven", "finished")


def journal_of(state: Path, run_id: str, events: tuple[str, ...] = EVENTS) -> Path:
    before = newest_line(state / "journal") if (state / "journal").exists() else None
    with open_ledger(state) as ledger:

        def bind(kind: str, lines: int, sha256: str) -> None:
            record = {"type": kind, "run": run_id, "journal_lines": lines, "journal_sha256": sha256}
            if kind == "apply-started" and before:
                record |= dict(zip(("previous_run", "previous_lines", "previous_sha256"), before, strict=True))
            ledger.append([record])

        with Journal(state / "journal", run_id, "aa", bind) as journal:
            for event in events:
                journal.write(event, node="n1")
    return journal.path


def journal_findings(state: Path) -> list[str]:
    return [str(each) for each in audit(state).findings if each.area == "journal"]


def test_an_unchanged_journal_has_no_finding(tmp_path: Path) -> None:
    journal_of(tmp_path, "r1")
    result = audit(tmp_path)
    assert result.findings == []
    assert "journal: run r1, 4 lines as in the ledger" in result.facts


def _edited(lines: list[str]) -> list[str]:
    return [line.replace('"n1"', '"n9"') if "wave-started" in line else line for line in lines]


def _edited_end(lines: list[str]) -> list[str]:
    return [line.replace('"n1"', '"n9"') if "finished" in line else line for line in lines]


def _shortened(lines: list[str]) -> list[str]:
    return lines[:-1]


def _without_a_line(lines: list[str]) -> list[str]:
    return lines[:1] + lines[2:]


def _rechained(lines: list[str]) -> list[str]:
    previous, out = "0" * 64, []
    for line in _edited(lines):
        out.append(json.dumps(json.loads(line) | {"previous": previous}, sort_keys=True) + "\n")
        previous = hashlib.sha256(out[-1].rstrip("\n").encode()).hexdigest()
    return out


@pytest.mark.parametrize("change", [_edited, _edited_end, _shortened, _without_a_line, _rechained])
def test_every_change_of_a_journal_is_found(tmp_path: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = journal_of(tmp_path, "r1")
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    assert len(journal_findings(tmp_path)) == 1


def test_a_removed_journal_is_found(tmp_path: Path) -> None:
    journal_of(tmp_path, "r1").unlink()
    assert journal_findings(tmp_path) == ["journal: the journal of run r1 is missing or unreadable"]


def test_the_next_run_protects_the_last_lines_of_a_killed_one(tmp_path: Path) -> None:
    path = journal_of(tmp_path, "r1", ("started", "wave-started", "role-started"))
    assert "journal: run r1, 3 lines as in the ledger" in audit(tmp_path).facts
    last = {"event": "role-finished", "previous": hashlib.sha256(path.read_bytes().splitlines()[-1]).hexdigest()}
    path.write_text(path.read_text() + json.dumps(last) + "\n")  # as if killed before the entry
    assert "journal: 1 last lines of run r1 have no ledger entry" in audit(tmp_path).notes
    journal_of(tmp_path, "r2")
    assert journal_findings(tmp_path) == []
    path.write_text(path.read_text().replace('"role-started"', '"role-finished"'))
    assert journal_findings(tmp_path) == ["journal: run r1: line 3 differs from the ledger"]
    assert next(each for each in audit(tmp_path).findings if each.area == "journal").file == "journal/r1.jsonl"


def test_a_line_after_the_end_and_an_added_journal_are_found(tmp_path: Path) -> None:
    path = journal_of(tmp_path, "r1")
    (tmp_path / "journal" / "r2.jsonl").write_text(path.read_text())
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    assert journal_findings(tmp_path) == [
        "journal: run r1: lines from 5 on have no ledger entry",
        "journal: r2.jsonl has no ledger entry",
    ]
