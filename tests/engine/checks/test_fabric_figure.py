"""The drawing of the fabric in the report: from stored evidence, with names escaped, and absent without a sweep."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from check_cases.case import answer
from check_cases.fabric import CUT_TEXT, GOOD, healthy
from evidence_specimens import fill, made, open_ledger

from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.publish import Published, publish
from sovctl.engine.checks.model.result import raw_of
from sovctl.engine.checks.runner.fabric_figure import figures_of
from sovctl.engine.fabric.drawing import draw
from sovctl.engine.fabric.topology import Fabric
from sovctl.engine.facts.fabric.ibnetdiscover import parse_ibnetdiscover
from sovctl.support.errors import ExitCode

TOPOLOGY = ("fabric.cabling-as-planned", "fabric.no-slow-links")


def published(state: Path, parts: dict[str, Any], **fields: Any) -> Published:
    """A report of two checks that share one sweep, and of the error counters."""
    raw = raw_of(answer(parts))
    items = [made(check_id, "n1", raw=raw, **fields) for check_id in TOPOLOGY]
    fill(state, [*items, made("fabric.errors-zero", "n1", **fields)])
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=load_pack(builtin_pack("nist-800-53-moderate")),
            subject=Subject("test-site"),
            generated=datetime(2026, 11, 21, 10, 30, tzinfo=UTC),
            tool_version="0.1.0",
            draw=figures_of,
        )


def test_the_report_has_one_drawing_for_one_sweep_and_names_its_records(tmp_path: Path) -> None:
    report = published(tmp_path, GOOD)
    (figure,) = report.document["figures"]
    assert len(figure["records"]) == len(TOPOLOGY)
    page = (report.folder / "report.html").read_text()
    assert page.count("<svg") == 1
    assert "leaf-1-1 - spine-1: 1" in page
    assert "Drawn from the raw output of" in page
    assert "simulated" not in figure["svg"]
    command = [sys.executable, "-I", str(report.folder / "sovctl-verify.pyz"), str(report.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.UNPROVEN, done.stdout + done.stderr


def test_the_drawing_of_a_lab_is_marked(tmp_path: Path) -> None:
    (figure,) = published(tmp_path, GOOD, simulated=True).document["figures"]
    assert "InfiniBand fabric (simulated)" in figure["svg"]


@pytest.mark.parametrize("parts", [CUT_TEXT, {"topology": ""}, {"topology": (1, "")}, {}], ids=str)
def test_an_unreadable_sweep_gives_no_drawing_and_a_report(tmp_path: Path, parts: dict[str, Any]) -> None:
    report = published(tmp_path, parts)
    assert report.document["figures"] == []
    assert "<svg" not in (report.folder / "report.html").read_text()


def test_a_description_cannot_leave_the_drawing() -> None:
    fabric = healthy()
    fabric.names["S-leaf-0-0"] = "MF0;</text><script>alert(1)</script>:MQM9700/U1"
    fabric.names["S-spine-0"] = "MF0;<!--:MQM9700/U1"
    svg = draw(Fabric.of(parse_ibnetdiscover(fabric.text())))
    ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert "<!--" not in svg


def test_slow_and_missing_cables_are_drawn_in_colours() -> None:
    fabric = healthy()
    plain = draw(Fabric.of(parse_ibnetdiscover(fabric.text())))
    assert "link slow" not in plain
    fabric.slow(("S-leaf-0-0", 4), "4xHDR")
    assert draw(Fabric.of(parse_ibnetdiscover(fabric.text()))).count('class="link slow"') == 1


def test_the_styles_of_a_drawing_apply_within_it_only() -> None:
    svg = draw(Fabric.of(parse_ibnetdiscover(healthy().text())))
    style = svg.partition("<style>")[2].partition("</style>")[0]
    assert style
    assert all(rule.strip().startswith(".fabric ") for rule in style.split("}") if rule)
