"""Verify: all checks pass on a whole site, a broken part FAILs by name, an unmeasured one is UNKNOWN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_site import NAME, LabSite

from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.lab.hardware.faults import fault_named
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab

NOWHERE = "10.77.0.99"
"""An address of the lab's network that no machine has."""


def test_every_check_passes_on_a_whole_site(site: LabSite) -> None:
    found = site.run_json("verify", str(site.file))
    assert _blocking(found) == {}
    assert {result["check_id"] for result in found["results"]} == {check.id for check in CHECKS}
    assert all(result["simulated"] is True for result in found["results"])


def test_a_link_that_goes_down_fails_exactly_the_nvlink_checks(site: LabSite) -> None:
    site.succeed("lab", "fault", "n1", "nvlink-down", "--name", NAME)
    try:
        found = site.run_json("verify", str(site.file), "--node", "n1", accept=(ExitCode.FAILURE,))
    finally:
        site.succeed("lab", "fault", "n1", "--clear", "--name", NAME)
    assert _blocking(found) == fault_named("nvlink-down").expects
    assert {check.partition(".")[0] for check in _blocking(found)} == {"nvlink"}
    again = site.run_json("verify", str(site.file), "--node", "n1", "--check", "nvlink.*")
    assert set(again["counts"]) == {"PASS"}


def test_a_flushed_ruleset_fails(site: LabSite) -> None:
    site.on("n2", "sudo nft flush ruleset")
    try:
        found = site.run_json(
            "verify", str(site.file), "--node", "n2", "--check", "perimeter.*", accept=(ExitCode.FAILURE,)
        )
    finally:
        site.on("n2", "sudo nft -f /etc/nftables.conf")
    assert _blocking(found)["perimeter.default-drop"] == "FAIL"
    again = site.run_json("verify", str(site.file), "--node", "n2", "--check", "perimeter.*")
    assert set(again["counts"]) <= {"PASS", "N/A"}


def test_an_unreachable_node_is_unknown(site: LabSite, tmp_path: Path) -> None:
    state = site.copy_state(tmp_path / "state")
    with site.variant(lambda values: _move(values, "n2")) as variant:
        found = site.run_json("verify", str(variant), "--state", str(state), "--node", "n2", accept=(ExitCode.FAILURE,))
    verdicts = {result["check_id"]: result["verdict"] for result in found["results"]}
    assert verdicts["perimeter.default-drop"] == "UNKNOWN"
    assert set(verdicts.values()) <= {"UNKNOWN", "N/A"}


def _blocking(found: dict[str, Any]) -> dict[str, str]:
    return {
        result["check_id"]: result["verdict"] for result in found["results"] if result["verdict"] in ("FAIL", "UNKNOWN")
    }


def _move(values: dict[str, Any], name: str) -> None:
    for group in values["node_groups"]:
        for node in group["nodes"]:
            if node["name"] == name:
                node["address"] = NOWHERE
