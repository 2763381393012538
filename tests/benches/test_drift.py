"""The bench of drift injects each kind once, and its score accepts no row without an injected cause."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from bench.drift import problems_of, summary, table
from bench.drifts.kind import Kind
from bench.drifts.kinds import A_ROUND, kinds, kinds_kept_apart, rounds_of
from bench.drifts.score import score

CONTENT = Kind("n1/content", "n1", "true", "n1/clock/chrony", subject="/etc/chrony/chrony.conf")
PACKAGE = Kind("n1/version", "n1", "true", "n1/package/nvidia-open", restarts=("n1/pool/chat",))
CRON = Kind("s1/cron", "s1", "true", "s1/cron//etc/cron.d/x", restore="rm /etc/cron.d/x")
TREE = Kind("s1/module", "s1", "true", "s1/environment/gateway")


def plan(*ids: str, why: str = "", before: dict[str, Any] | None = None, unmanaged: tuple[str, ...] = ()) -> Any:
    changes = [{"id": each, "why": why, "before": before or {"runs_what_is_written": True}, "after": None}
               for each in ids]  # fmt: skip
    return {"changes": changes, "unmanaged": [{"id": each} for each in unmanaged]}


def test_there_are_enough_kinds_and_each_has_an_id_of_its_own() -> None:
    found = kinds()
    assert len(found) >= 120
    assert len({kind.id for kind in [*found, *kinds_kept_apart()]}) == len(found) + len(kinds_kept_apart())


@pytest.mark.parametrize("kind", [*kinds(), *kinds_kept_apart()], ids=lambda kind: kind.id)
def test_commands_are_whole_shell_and_rows_are_of_the_kinds_node(kind: Kind) -> None:
    for command in filter(None, (kind.inject, kind.restore)):
        subprocess.run(["sh", "-n", "-c", command], check=True)
    assert all(row.startswith(f"{kind.node}/") for row in (kind.row, *kind.also, *kind.restarts))
    assert not kind.blocks_apply or kind.restore


def test_rounds_contain_each_kind_once_and_no_two_that_cannot_be_told_apart() -> None:
    made = rounds_of(kinds(), seed=7)
    assert sorted(kind.id for each in made for kind in each) == sorted(kind.id for kind in kinds())
    for each in made:
        assert len(each) <= A_ROUND
        assert not [1 for place, kind in enumerate(each) for other in each[:place] if kind.conflicts(other)]
    assert rounds_of(kinds(), seed=7) == made
    assert rounds_of(kinds(), seed=8) != made


def test_a_round_in_which_all_is_found_and_corrected_has_no_problem() -> None:
    planned = plan(CONTENT.row, unmanaged=(CRON.row,))
    found = score([CONTENT, CRON], planned, planned, ())
    assert [(each.found_by, each.is_corrected) for each in found.kinds] == [("plan", True), ("plan", None)]
    assert (found.false_rows, found.left) == ((), ())


def test_a_row_that_only_verify_gives_counts_for_verify() -> None:
    found = score([TREE], plan(), plan(TREE.row), ())
    assert [each.found_by for each in found.kinds] == ["verify"]
    assert score([TREE], plan(), plan(), ()).kinds[0].found_by == ""


@pytest.mark.parametrize("row", ["n1/clock/chronyd", "n1/pool/chat", "n2/clock/chrony", "n1/cron//etc/cron.d/y"])
def test_a_row_without_an_injected_cause_is_false(row: str) -> None:
    planned = plan(CONTENT.row, row)
    assert score([CONTENT], planned, planned, ()).false_rows == (row,)
    assert score([CONTENT], plan(CONTENT.row), planned, ()).false_rows == (row,)


def test_a_restart_is_explained_only_by_a_cause_that_names_the_change() -> None:
    def false_rows(why: str, before: dict[str, Any]) -> tuple[str, ...]:
        planned = plan("n1/pool/chat", why=why, before=before)
        return score([PACKAGE], planned, planned, ()).false_rows

    restart = {"runs_what_is_written": True}
    assert false_rows("package nvidia-open changes", restart) == ()
    assert false_rows("", {"runs_what_is_written": "its process is older than /var/lib/x/nvidia-open"}) == ()
    assert false_rows("package nvidia-persistenced changes", restart) == ("n1/pool/chat",)
    assert false_rows("package nvidia-open changes", {"max-num-seqs": 4}) == ("n1/pool/chat",)


def test_a_superseded_environment_is_explained_only_by_its_own_environment() -> None:
    def false_rows(name: str) -> tuple[str, ...]:
        planned = plan(TREE.row, f"s1/superseded_environment/{name}")
        return score([TREE], planned, planned, ()).false_rows

    assert false_rows("gateway-0123456789ab") == ()
    assert false_rows("installer-0123456789ab") == ("s1/superseded_environment/installer-0123456789ab",)


def test_what_remains_after_apply_is_not_corrected() -> None:
    planned = plan(CONTENT.row)
    found = score([CONTENT], planned, planned, {CONTENT.row})
    assert (found.kinds[0].is_corrected, found.left) == (False, (CONTENT.row,))
    assert score([CONTENT], planned, planned, (), has_failed=True).kinds[0].is_corrected is False
    assert score([CONTENT], planned, planned, (), failures=["another kind"]).kinds[0].is_corrected is True
    also = replace(CONTENT, also=("n1/attributes//etc/chrony/chrony.conf",))
    assert score([also], planned, planned, set(also.also)).kinds[0].is_corrected is False


def test_rows_that_an_earlier_round_left_are_no_result_of_this_one() -> None:
    planned = plan(CONTENT.row, "n1/pool/chat")
    found = score([CONTENT], planned, planned, {"n1/pool/chat"}, known={"n1/pool/chat"})
    assert (found.false_rows, found.left) == ((), ())


def _round(**changes: Any) -> dict[str, Any]:
    kind = {"id": "n1/content/x", "found_by": "plan", "is_corrected": True}
    return {"kinds": [kind], "reported": 1, "false_rows": [], "left": [], "failures": [], **changes}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a missed kind": (
        {"kinds": [{"id": "n1/a/x", "found_by": "", "is_corrected": None}]},
        "plan and verify report 0.0%",
    ),
    "only verify finds it": (
        {"kinds": [{"id": "n1/a/x", "found_by": "verify", "is_corrected": True}]},
        "plan reports 0",
    ),
    "not corrected": (
        {"kinds": [{"id": "n1/a/x", "found_by": "plan", "is_corrected": False}]},
        "not corrected: n1/a/x",
    ),
    "a false row": ({"reported": 2, "false_rows": ["n1/pool/chat"]}, "precision 50.0%"),
    "a row that is left": ({"left": ["n1/pool/chat"]}, "left after apply: n1/pool/chat"),
    "a failed apply": ({"failures": ["sovctl apply ended with 5"]}, "failed: sovctl apply ended with 5"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_missed_bar_is_a_problem(name: str) -> None:
    changes, problem = BROKEN[name]
    assert problems_of(summary({"0": _round()}, 1)) == []
    found = problems_of(summary({"0": _round(**changes)}, 1))
    assert [each for each in found if each.startswith(problem)]


def test_a_run_without_kinds_meets_no_bar() -> None:
    assert "no kind was injected" in problems_of(summary({}, 100))


def test_the_table_counts_by_group() -> None:
    done = {"0": _round(), "1": _round(kinds=[{"id": "s1/unmanaged/y", "found_by": "", "is_corrected": None}])}
    lines = table(summary(done, 2), done)
    assert [line.split() for line in lines[1:3]] == [
        ["content", "1", "1", "0", "0", "1", "1"],
        ["unmanaged", "1", "0", "0", "1", "0", "0"],
    ]
    assert lines[-1].startswith("2 of 2 kinds: plan 50.0%, plan and verify 50.0%, precision 100.0%, corrected 1 of 1")
