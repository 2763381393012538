"""A plan on the screen: a line per change, in words, and never wider than the terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from strategies import context

from sovctl.cli.views.changes import phrase
from sovctl.cli.views.plan import show_plan, summary
from sovctl.cli.views.waves import show_waves
from sovctl.engine.plan.file import Plan
from sovctl.engine.plan.serving import Server, Serving
from sovctl.engine.plan.waves import waves
from sovctl.engine.resources.resource import Change, Risk, Verb

RULES = ["table inet sovctl {", "ct state invalid drop", "}"]
CHANGES = (
    Change(
        "n1", "package", "nvidia-open", Verb.UPDATE, {"is_held": False}, {"is_held": True}, "held", Risk.WORKLOAD, 1
    ),
    Change("n1", "clock", "chrony", Verb.CREATE, None, {"active": "active"}, "time from 192.0.2.1", Risk.NONE, 0.1),
    Change(
        "n1", "perimeter", "firewall", Verb.UPDATE, {"rules": RULES[:1]}, {"rules": RULES}, "drop", Risk.CONNECTION, 0.1
    ),
    Change("n2", "pool", "former", Verb.DELETE, {"files": ["/a", "/b"]}, None, "no such pool", Risk.WORKLOAD, 0.2),
)


def plan(*changes: Change) -> Plan:
    found = tuple(waves(context("lab"), changes, ()))
    return Plan("lab", "2026-11-21T09:00:00Z", "0", "a", "b", {}, True, changes, found)


def test_every_change_is_a_line_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(*CHANGES))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "simulated hardware: this is the plan of a lab"
    assert lines[1] == "n1"
    held, clock, wall = (" ".join(line.split()) for line in lines[2:5])
    assert held == "~ package nvidia-open not held -> held stops a pool; held"
    assert clock == "+ clock chrony new: active time from 192.0.2.1"
    assert wall == "~ perimeter firewall +2 rules cuts connections; drop"
    assert lines[5] == "n2"
    assert " ".join(lines[6].split()) == "- pool former removed: 2 files stops a pool; no such pool"
    assert lines[7] == "canary: n1; about 1 min; no server is interrupted"
    assert lines[9].startswith("1 to create, 2 to update, 1 to delete; 1 x cuts connections; 2 x stops a pool; waves: ")


def test_each_wave_shows_its_capacity_and_downtime_shows_the_option_for_consent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = context("bank-hybrid")
    serving = frozenset(Serving(site).nodes)
    change = Change("dgx-1", "pool", "code", Verb.UPDATE, {"port": 1}, {"port": 2}, "port", Risk.WORKLOAD, 7)
    show_waves(tuple(waves(site, [change], serving)))
    assert capsys.readouterr().out.splitlines() == ["canary: dgx-1; about 7 min; code 1/2 serving (floor 1)"]
    show_waves(tuple(waves(site, [change], serving - {Server("code", "code.1")})))
    wave, downtime = capsys.readouterr().out.splitlines()
    assert wave.endswith("code 0/2 serving (floor 1)")
    assert downtime.startswith("downtime: pool code goes below min_serving in canary: code 0/2 serving (floor 1)")
    assert downtime.endswith("sovctl apply --allow-downtime code")


def test_a_plan_without_risks_has_no_column_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(CHANGES[1]))
    assert "none" not in capsys.readouterr().out


def test_details_show_both_sides_of_every_key_and_what_goes(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(*CHANGES), details=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "is_held: no -> yes" in lines
    assert "+ ct state invalid drop" in lines
    assert "- /a" in lines


def test_only_one_node_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(*CHANGES), only="n2")
    assert "nvidia-open" not in capsys.readouterr().out


def test_no_change_is_said_in_words() -> None:
    assert summary(replace(plan(), waves=())) == "no changes: every node matches site.yaml"


def _on_a_terminal(code: str, *, columns: int) -> str:
    """Run a program of Python on a terminal of this width, and return its output."""
    here = Path(__file__).parent
    environment = dict(os.environ, PYTHONPATH=f"{here}:{here.parent}", COLUMNS=str(columns), NO_COLOR="1")
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stdout=follower, env=environment, check=True)
    os.close(follower)
    text = os.read(leader, 65536).decode()
    os.close(leader)
    return text


@pytest.mark.parametrize("columns", [60, 100])
def test_no_line_of_changes_is_wider_than_the_terminal(columns: int) -> None:
    code = "from test_plan_view import CHANGES, plan, show_plan; show_plan(plan(*CHANGES[:2], CHANGES[3]))"
    text = _on_a_terminal(code, columns=columns)
    changed = [line for line in text.splitlines() if line.startswith("  ")]
    assert all(len(line) <= columns for line in changed)
    assert len(changed) == (3 if columns == 100 else 6)
    assert "…" not in text


def _change(node: str, version: str = "2", **fields: Any) -> Change:
    values = {"kind": "package", "name": "nvidia-open", "why": "lock", "risk": Risk.WORKLOAD, "minutes": 1.0}
    return Change(node=node, verb=Verb.UPDATE, before={"version": "1"}, after={"version": version}, **values | fields)


def test_like_nodes_are_one_group_and_others_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(_change("n1"), _change("n2"), _change("s1", why="another lock")))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "n[1-2] (2 nodes)"
    assert lines[3] == "s1"


def test_a_group_names_values_that_differ_by_node(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(plan(_change("n1"), _change("n2", version="3")))
    assert "1 -> 2 (differs by node)" in capsys.readouterr().out


def test_digests_are_shown_with_details_only(capsys: pytest.CaptureFixture[str]) -> None:
    digests = replace(_change("n1"), before={"unit_sha256": "a" * 64}, after={"unit_sha256": "b" * 64})
    show_plan(plan(digests))
    assert "unit changes" in (shown := capsys.readouterr().out)
    assert "aaaa" not in shown
    show_plan(plan(digests), details=True)
    assert f"unit_sha256: {'a' * 64} -> {'b' * 64}" in capsys.readouterr().out


def test_risk_and_reason_are_visible_at_100_columns() -> None:
    code = "from test_plan_view import CHANGES, plan, show_plan; show_plan(plan(*CHANGES))"
    shown = _on_a_terminal(code, columns=100)
    assert "stops a pool; held" in shown
    assert "cuts connections; drop" in shown


def test_a_reboot_and_an_outdated_daemon_are_phrases_with_their_causes() -> None:
    boot = {"boot_id": "663a30d8-26c3-4f15-a35f-cc95c37922be", "causes": ["x"]}
    reboot = Change(
        "n1",
        "reboot",
        "node",
        Verb.UPDATE,
        boot,
        {"boot_id": "(known after reboot)", "causes": []},
        "x",
        Risk.REBOOT,
        1.0,
    )
    assert phrase(reboot) == "boot 663a30d8 -> (known after reboot)"
    cause, after = {"runs_what_is_written": "its process is older than /a"}, {"runs_what_is_written": True}
    daemon = Change("n1", "clock", "chrony", Verb.UPDATE, cause, after, "why", Risk.SERVICE, 0.1)
    assert phrase(daemon) == "its process is older than /a -> runs current files"
