"""The journal: on the disk before the next step, readable after a crash, and honest about a full disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sovctl.engine.apply.journal import Journal, newest, newest_line, read, unfinished
from sovctl.support.errors import SovctlError


def run(folder: Path, run_id: str, plan: str, *events: str) -> Path:
    with Journal(folder, run_id, plan) as journal:
        for event in events:
            journal.write(event, node="n1")
    return journal.path


def test_no_run_is_not_unfinished(tmp_path: Path) -> None:
    assert (newest(tmp_path), unfinished(tmp_path)) == ([], None)


@pytest.mark.parametrize("last", ["started", "wave-started", "failed", "interrupted", "task-failed"])
def test_a_run_without_its_end_is_found(tmp_path: Path, last: str) -> None:
    run(tmp_path, "20261121T090000Z-aa", "aa", "started", "finished")
    run(tmp_path, "20261121T100000Z-bb", "bb", "started", last)
    assert unfinished(tmp_path) == "bb"


def test_a_later_run_that_ends_closes_the_matter(tmp_path: Path) -> None:
    run(tmp_path, "20261121T090000Z-aa", "aa", "started")
    run(tmp_path, "20261121T100000Z-bb", "bb", "started", "finished")
    assert unfinished(tmp_path) is None


def test_a_run_that_died_before_its_first_event_hides_no_earlier_one(tmp_path: Path) -> None:
    run(tmp_path, "20261121T090000Z-aa", "aa", "started")
    (tmp_path / "20261121T100000Z-bb.jsonl").write_text("")
    assert unfinished(tmp_path) == "aa"


def test_what_a_power_cut_left_behind_the_last_line_is_left_out(tmp_path: Path) -> None:
    path = run(tmp_path, "20261121T090000Z-aa", "aa", "started")
    path.write_bytes(path.read_bytes() + b"\xff\x00" * 40)
    assert [event["event"] for event in read(path)] == ["started"]
    assert unfinished(tmp_path) == "aa"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wherever_a_crash_tears_the_file_whole_lines_are_read(tmp_path: Path, data: st.DataObject) -> None:
    path = run(Path(tempfile.mkdtemp(dir=tmp_path)), "r", "aa", "started", "wave-started", "wave-proven", "finished")
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    events = [event["event"] for event in read(path)]
    lines = whole[:cut].count(b"\n")
    assert events[:lines] == ["started", "wave-started", "wave-proven", "finished"][:lines]
    assert len(events) - lines in (0, 1)  # one more: torn between the brace and the end of the line
    if events and events[-1] != "finished":
        assert unfinished(path.parent) == "aa"


def test_a_full_disk_is_an_error_in_words_before_the_step_begins(tmp_path: Path) -> None:
    with Journal(tmp_path, "r", "aa") as journal, Path("/dev/full").open("w") as full:
        os.dup2(full.fileno(), journal.descriptor)
        with pytest.raises(SovctlError, match="cannot write the journal: no space left on device") as caught:
            journal.write("started")
    assert "free disk space" in caught.value.hint


def test_the_ledger_gets_the_digest_of_every_line(tmp_path: Path) -> None:
    bound: list[tuple[str, int, str]] = []
    with Journal(tmp_path, "r", "aa", lambda *line: bound.append(line)) as journal:
        for event in ("started", "wave-started", "role-started", "wave-proven", "finished"):
            journal.write(event)
    lines = journal.path.read_bytes().splitlines()
    digests = [hashlib.sha256(line).hexdigest() for line in lines]
    assert bound == [
        ("apply-started", 1, digests[0]),
        ("apply-step", 2, digests[1]),
        ("apply-step", 3, digests[2]),
        ("apply-wave", 4, digests[3]),
        ("apply-finished", 5, digests[4]),
    ]
    assert newest_line(tmp_path) == ("r", 5, digests[4])


def test_a_second_run_does_not_append_to_the_journal_of_the_first(tmp_path: Path) -> None:
    run(tmp_path, "r", "aa", "started")
    with pytest.raises(FileExistsError):
        run(tmp_path, "r", "aa", "started")
