"""`sovctl fabric`: shows a capture, writes a drawing and a plan, and compares; bad files end with 3."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
import warm_processes

from bench.fabric import InventedFabric
from sovctl.engine.fabric.drawing import draw
from sovctl.engine.fabric.reading import read_fabric

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `sovctl fabric` in a folder with captures of a healthy and a damaged fabric."""
    healthy, swapped = (InventedFabric(hosts=6, rails=2, hosts_per_leaf=3, uplinks=2) for _ in range(2))
    swapped.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 1))
    swapped.cut(("S-leaf-1-0", 4))
    (tmp_path / "healthy.txt").write_text(healthy.text())
    (tmp_path / "swapped.txt").write_text(swapped.text())

    def call(*words: str) -> tuple[int, str, str]:
        done = warm_processes.sovctl("fabric", *words, cwd=tmp_path, env=dict(os.environ), timeout_s=60)
        return done.returncode, done.stdout, done.stderr

    return call


def test_show_prints_leaves_and_findings(run: Run) -> None:
    code, out, _ = run("show", "swapped.txt")
    assert code == 0
    assert "4 leaves, 2 spines, 12 adapters" in out
    assert "swapped rails" in out
    assert "few uplinks" in out
    assert run("show", "healthy.txt")[1].rstrip().endswith("no findings")


def test_show_prints_one_json_document(run: Run) -> None:
    document = json.loads(run("show", "swapped.txt", "--json")[1])
    assert document["leaf_switches"] == 4
    assert {each["kind"] for each in document["findings"]} == {"swapped rails", "few uplinks"}


def test_a_plan_of_the_healthy_fabric_finds_the_changes(run: Run, tmp_path: Path) -> None:
    code, plan, _ = run("show", "healthy.txt", "--cabling")
    assert code == 0
    (tmp_path / "plan.csv").write_text(plan)
    assert run("diff", "healthy.txt", "--expected", "plan.csv")[0] == 0
    code, out, _ = run("diff", "swapped.txt", "--expected", "plan.csv")
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["missing", "wrong", "wrong"]
    code, out, _ = run("diff", "swapped.txt", "--expected", "healthy.txt", "--json")
    assert (code, len(json.loads(out)["differences"])) == (1, 3)


def test_bad_files_are_input_errors_with_a_remedy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("device,port,peer,peer_port\na,0,b,1\nc,1\n")
    (tmp_path / "cut.txt").write_text((tmp_path / "healthy.txt").read_text()[:900])
    for words in (("diff", "healthy.txt", "--expected", "bad.csv"), ("show", "cut.txt"), ("show", "absent.txt")):
        code, out, error = run(*words)
        assert (code, out) == (3, ""), error
        assert "Traceback" not in error
    assert run("diff", "healthy.txt", "--expected", "bad.csv")[2].count("bad.csv:") == 2
    assert run("diff", "healthy.txt")[0] == 3  # no site.yaml


def test_the_drawing_is_xml_with_every_switch(run: Run, tmp_path: Path) -> None:
    assert run("show", "swapped.txt", "--svg", "fabric.svg")[0] == 0
    text = (tmp_path / "fabric.svg").read_text()
    ElementTree.fromstring(text)
    fabric = read_fabric((tmp_path / "swapped.txt").read_text())
    assert text == draw(fabric)
    assert all(f">{fabric.name(each.guid)}</text>" in text for each in fabric.switches)
    assert text.count('class="link few"') == 0  # every pair of switches has one cable
    assert "<script" not in text


def test_names_cannot_add_elements_to_the_drawing() -> None:
    invented = InventedFabric(hosts=2, rails=1, hosts_per_leaf=2, uplinks=1)
    invented.names["S-spine-0"] = "<script>x</script>"
    text = draw(read_fabric(invented.text()))
    assert "<script" not in text
    ElementTree.fromstring(text)
