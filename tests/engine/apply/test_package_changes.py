"""Packages that changed are compared with the plan."""

from __future__ import annotations

from dataclasses import replace

from planned_nodes import empty

from sovctl.engine.apply.package_changes import package_changes, unplanned
from sovctl.engine.facts.node import InstalledPackage, NodeFacts
from sovctl.engine.resources.resource import Change, Risk, Verb
from sovctl.engine.resources.software.dependencies import LATER


def node(**versions: str) -> NodeFacts:
    packages = {name: InstalledPackage(version, is_held=False) for name, version in versions.items()}
    return replace(empty("n1"), packages=packages)


def change(name: str, after: dict[str, str]) -> Change:
    return Change("n1", "package", name, Verb.CREATE, None, after, "why", Risk.NONE, 0.1)


BEFORE = node(bash="1", libc6="1", old="1")
AFTER = node(bash="1", libc6="2", chrony="4", libedit="3")


def test_every_package_that_differs_is_found() -> None:
    found = package_changes(BEFORE, AFTER)
    assert found == {"chrony": (None, "4"), "libc6": ("1", "2"), "libedit": (None, "3"), "old": ("1", None)}


def test_changes_outside_the_plan_are_named() -> None:
    plan = [change("chrony", {"status": "installed"}), change("dependencies", {"libedit": "3"})]
    assert unplanned(BEFORE, AFTER, plan) == ["libc6 1 -> 2", "old 1 -> (absent)"]
    assert unplanned(BEFORE, AFTER, []) == [
        "chrony (absent) -> 4",
        "libc6 1 -> 2",
        "libedit (absent) -> 3",
        "old 1 -> (absent)",
    ]


def test_unknown_dependencies_allow_additions_and_no_removal() -> None:
    plan = [change("chrony", {"status": "installed"}), change("dependencies", {"packages": LATER})]
    assert unplanned(BEFORE, AFTER, plan) == ["old 1 -> (absent)"]
