"""Verdicts on the screen: the worst first, like results in one row."""

from __future__ import annotations

import pytest

from sovctl.cli.views.verify import show_verdicts
from sovctl.compliance.verdict import Verdict


def rows(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()][1:]


def test_failures_precede_unknown_and_passed_results(capsys: pytest.CaptureFixture[str]) -> None:
    found = [(verdict, "n1", f"gpu.{verdict.name.lower()}", "reason") for verdict in Verdict]
    show_verdicts(found)
    assert [row.split()[0] for row in rows(capsys)] == ["FAIL", "UNKNOWN", "WARN", "PASS", "N/A"]


def test_like_results_of_nodes_are_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    found = [(Verdict.PASS, f"dgx-{number}", "gpu.ecc", "8 of 8") for number in range(1, 33)]
    show_verdicts([*found, (Verdict.PASS, "dgx-40", "gpu.ecc", "4 of 4")])
    assert rows(capsys) == ["PASS dgx-[1-32] gpu.ecc 8 of 8", "PASS dgx-40 gpu.ecc 4 of 4"]


def test_many_unlike_names_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    found = [(Verdict.FAIL, f"{name}/chat", "pool.probe-answers", "no answer") for name in ("alpha", "beta", "gamma")]
    show_verdicts(found)
    assert rows(capsys) == ["FAIL alpha/chat and 2 more pool.probe-answers no answer"]
