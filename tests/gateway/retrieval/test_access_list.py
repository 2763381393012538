"""Groups files: the most specific entry permits, every matching entry denies, and all problems are shown at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.gateway.retrieval.ingest.access_list import read_access_list
from sovctl.gateway.retrieval.values import Groups
from sovctl.support.errors import InputError, SpecError

CSV = "source,allow,deny\n/,staff,\npolicies/,staff;auditors,interns\npolicies/board/,board,contractors\nopen/a.pdf,,\n"


def groups(allow: set[str], deny: set[str]) -> Groups:
    return Groups(frozenset(allow), frozenset(deny))


def test_the_longest_entry_permits_and_all_entries_deny(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text(CSV)
    access = read_access_list(path)
    assert access.groups("a.pdf") == groups({"staff"}, set())
    assert access.groups("policies/a.pdf") == groups({"staff", "auditors"}, {"interns"})
    assert access.groups("policies/board/x/y.pdf") == groups({"board"}, {"interns", "contractors"})
    assert access.groups("policies.pdf") == groups({"staff"}, set())
    assert access.groups("open/a.pdf") is None


def test_a_document_without_an_entry_has_no_groups(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text('{"documents": {"a/": {"allow": ["x"]}}}')
    access = read_access_list(path)
    assert access.groups("a/b") == groups({"x"}, set())
    assert access.groups("b") is None


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("g.csv", "source,allow,deny\n../x,a,\n/,a,\n/,b,\nx/,a\n,a,\n", 4),
        ("g.csv", "file,groups\nx,a\n", 1),
        ("g.csv", "", 1),
        ("g.csv", "source,allow\n", 1),
        ("g.csv", f"source,allow\nx,{'g' * 201}\n", 1),
        ("g.csv", 'source,allow\n"x,a\n', 1),
        ("g.json", "[]", 1),
        ("g.json", "{", 1),
        (
            "g.json",
            '{"documents": {"a": {"allow": "x"}, "b": {}, "c": {"allow": [1]}, "d": {"allow": [], "who": []}}}',
            4,
        ),
        ("g.json", '{"documents": {"a": {"allow": ["x"]}, "a": {"allow": ["y"]}}}', 1),
    ],
)
def test_reports_all_problems(tmp_path: Path, name: str, text: str, count: int) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SpecError) as error:
        read_access_list(path)
    assert len(error.value.problems) == count, [str(each) for each in error.value.problems]
    assert all(name in each.where for each in error.value.problems)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("x")
    (tmp_path / "l.csv").write_bytes("ü".encode("latin-1"))
    for name in ("g.txt", "absent.csv", "l.csv"):
        with pytest.raises(InputError):
            read_access_list(tmp_path / name)
