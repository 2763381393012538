"""Packages that apt adds are in the plan, from a simulation on the node."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from node_edits import with_answer, with_file
from planned_nodes import planned
from strategies import context

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, requests
from sovctl.engine.resources.resource import Change
from sovctl.engine.resources.software import dependencies
from sovctl.support.errors import SovctlError

SIMULATION = "simulation debian-12"


def without(facts: NodeFacts, *names: str) -> NodeFacts:
    return replace(facts, packages={name: each for name, each in facts.packages.items() if name not in names})


def package_changes(facts: NodeFacts) -> dict[str, Change]:
    made = changes(context("lab"), {**planned("lab")[0], "n1": facts})
    return {each.name: each for each in made if each.kind == "package"}


def test_the_plan_lists_what_apt_adds_upgrades_and_removes() -> None:
    facts = with_answer(
        without(planned("lab")[0]["n1"], "python3-venv"),
        SIMULATION,
        "Remv nvidia-old [550-1]\nInst python3.11-venv (3.11.2-6 lab [amd64])\n"
        "Inst python3-venv (3.11.2-1 lab [amd64])\n",
    )
    made = package_changes(facts)
    assert list(made) == ["python3-venv", "dependencies"]
    assert made["dependencies"].after == {"nvidia-old": "(removed)", "python3.11-venv": "3.11.2-6"}
    assert made["dependencies"].before == {"nvidia-old": "(absent)", "python3.11-venv": "(absent)"}


def test_without_a_planned_package_nothing_is_listed() -> None:
    facts = with_answer(planned("lab")[0]["n1"], SIMULATION, "Inst other (1 lab [amd64])\n")
    assert package_changes(facts) == {}


def test_until_the_repository_is_configured_dependencies_are_not_known() -> None:
    facts = without(planned("lab")[0]["n1"], "python3-venv")
    stray = with_file(facts, "/etc/apt/sources.list.d/debian.sources")
    for each in (stray, replace(facts, answers={**facts.answers, SIMULATION: {"exit_code": 100, "stdout": ""}})):
        assert package_changes(each)["dependencies"].after == {"packages": dependencies.LATER}


def test_an_unreadable_simulation_stops_the_plan() -> None:
    facts = with_answer(without(planned("lab")[0]["n1"], "python3-venv"), SIMULATION, "Inst what\n")
    with pytest.raises(SovctlError, match="Inst NAME") as caught:
        package_changes(facts)
    assert caught.value.where == "node n1: apt-get --simulate"


def test_a_node_simulates_only_for_its_own_system(tmp_path: Path) -> None:
    commands = requests(context("lab"))["n1"].commands
    release = Path("/etc/os-release")
    if not release.exists():
        pytest.skip("no os-release on this machine")
    text = release.read_text()
    for name in ("simulation ubuntu-22.04", "simulation ubuntu-24.04", "simulation dgx-os-7"):
        if "ID=ubuntu" in text.splitlines():
            continue
        assert subprocess.run(commands[name], capture_output=True, check=False, cwd=tmp_path).returncode == 77


def simulate(*packages: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", dependencies.SIMULATION, "sh", *packages]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="no dpkg on this machine")
def test_installed_packages_are_not_simulated_and_another_version_is() -> None:
    query = ["dpkg-query", "-W", "-f", "${Version}", "bash"]
    version = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    done = simulate("bash", f"bash={version}", "dpkg")
    assert (done.returncode, done.stdout) == (0, "")
    assert simulate("bash", "bash=0.0-none").returncode == 100
    assert simulate("bash", "sovctl-no-such-package").returncode == 100
