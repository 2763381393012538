"""Golden plans of four boards on their operating systems: packages, versions, services, order, refusals.

A case is a file in tests/cases/plans: the figures of a node, and the plan of packages and services for it. The case is
the expectation; a change of it is a change of what nodes get.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_nodes import capture, facts, site
from strategies import EXAMPLES

from sovctl.engine.facts.node import parse_node
from sovctl.engine.plan.build import changes
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.plan.support import ApplyRefused, UnsupportedSystem, check_no_refusals, refusals
from sovctl.engine.resources.software import repository
from sovctl.support.errors import SovctlError

FOLDER = EXAMPLES.parent / "tests" / "cases" / "plans"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
KINDS = ("repository", "package", "service", "reboot")
"""Kinds that a case lists; other kinds have tests of their own."""


def planned(case: dict[str, Any], folder: Path) -> list[str]:
    """Rows of a plan: `kind name value`."""
    made = changes(site(case, folder), facts(case))
    shown = {"version", "status", "active", "driver_stream", "packages"}
    return [
        " ".join([each.kind, each.name, *(str(value) for key, value in (each.after or {}).items() if key in shown)])
        for each in made
        if each.kind in KINDS
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_board_gets_exactly_its_packages_and_services(name: str, tmp_path: Path) -> None:
    assert planned(CASES[name], tmp_path) == CASES[name]["plan"]


@pytest.mark.parametrize("name", CASES)
def test_a_board_is_refused_for_its_reasons_only(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = refusals(site(case, tmp_path), facts(case))
    assert [each.message for each in found] == case["refusals"]
    if not found:
        check_no_refusals(found)
        return
    with pytest.raises(ApplyRefused, match="apply refused: node-1") as caught:
        check_no_refusals(found)
    assert "no node was changed" in caught.value.hint


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_in_the_order_of_kinds(name: str, tmp_path: Path) -> None:
    order = [kind.name for kind in RESOURCE_TYPES]
    made = [each.kind for each in changes(site(CASES[name], tmp_path), facts(CASES[name]))]
    assert made == sorted(made, key=order.index)
    assert {"package", "service", "perimeter", "pool"} <= set(made)


def test_fabric_manager_is_planned_at_the_version_of_the_driver() -> None:
    for name, case in CASES.items():
        versions = {
            row.split()[2].rpartition(":")[2].partition("-")[0]
            for row in case["plan"]
            if row.startswith(("package nvidia-fabricmanager", "package nvidia-imex", "package libnvidia-nscq"))
        }
        assert versions <= {case["lock"].removeprefix("nvidia-")}, name


def test_a_capture_of_rhel_without_rpm_packages_is_not_planned(tmp_path: Path) -> None:
    changed = capture(CASES["hgx_h100_rhel"])
    del changed["commands"]["rpm-packages"]
    with pytest.raises(SovctlError, match="probe command 'packages' failed") as caught:
        changes(site(CASES["hgx_h100_rhel"], tmp_path), {"node-1": parse_node(changed)})
    assert caught.value.where == "node node-1"


def test_unsupported_systems_are_refused_together_with_the_supported_ones(tmp_path: Path) -> None:
    case = CASES["hgx_h100_ubuntu"] | {"os_release": 'ID=rocky\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4"\n'}
    with pytest.raises(UnsupportedSystem, match="node-1: Rocky Linux") as caught:
        changes(site(case, tmp_path), facts(case))
    assert "Ubuntu 24.04" in caught.value.hint
    assert "DGX OS 7" in caught.value.hint


def test_debian_is_for_nodes_without_gpus(tmp_path: Path) -> None:
    case = CASES["hgx_h100_ubuntu"] | {"os_release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n'}
    with pytest.raises(UnsupportedSystem, match="Debian 12 on a node of platform hgx-h100"):
        changes(site(case, tmp_path), facts(case))


@pytest.mark.parametrize(
    ("secure_boot", "mok", "message"),
    [
        ("enabled", None, "is not enrolled"),
        ("enabled", "is not enrolled\n", "is not enrolled"),
        ("enabled", "is already enrolled\n", None),
        ("disabled", None, None),
        ("in an unknown state", None, "the state of Secure Boot is unknown"),
    ],
)
def test_secure_boot_needs_an_enrolled_key(
    secure_boot: str, mok: str | None, message: str | None, tmp_path: Path
) -> None:
    case = CASES["hgx_h100_ubuntu"] | {"secure_boot": secure_boot}
    changed = capture(case)
    if mok is not None:
        key = "/var/lib/shim-signed/mok/MOK.der"
        changed["commands"][f"mok-key {key}"] = {"exit_code": 1, "stdout": f"{key} {mok}", "stderr": ""}
    found = refusals(site(case, tmp_path), {"node-1": parse_node(changed)})
    assert [message in each.message for each in found if message] == ([True] if message else [])
    assert bool(found) == (message is not None)


@pytest.mark.parametrize(("name", "is_kept"), [("dgx_h100_dgx_os", True), ("hgx_h100_ubuntu", False)])
def test_sources_of_nvidia_remain_on_dgx_os_and_others_are_moved(name: str, is_kept: bool, tmp_path: Path) -> None:
    given = capture(CASES[name])
    given["files"]["/etc/apt/sources.list.d/dgx.sources"] = {"size": 120, "sha256": "0" * 64}
    of_node = {"node-1": parse_node(given)}
    change = next(each for each in changes(site(CASES[name], tmp_path), of_node) if each.kind == "repository")
    assert ("other_sources" not in (change.after or {})) is is_kept
    assert ("/etc/apt/sources.list.d/dgx.sources" in (change.before or {}).get("other_sources", ())) is not is_kept
    desired = next(
        each
        for each in repository.RESOURCE_TYPE.expect(
            site(CASES[name], tmp_path), site(CASES[name], tmp_path).spec.node("node-1"), of_node["node-1"]
        )
    )
    assert desired.variables["keeps_other_sources"] is is_kept
