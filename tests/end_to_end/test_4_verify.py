"""Verify: a fault fails exactly its checks, and a node that cannot be measured is UNKNOWN.

Every check on every node: tests/engine/checks/test_check_lab.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_site import NAME, NOWHERE, LabSite, move

from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.lab.hardware.faults import fault_named
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab


def test_a_link_that_goes_down_fails_exactly_the_nvlink_checks(site: LabSite) -> None:
    site.succeed("lab", "fault", "n1", "nvlink-down", "--name", NAME)
    try:
        found = site.run_json("verify", str(site.file), "--node", "n1", accept=(ExitCode.FAILURE,))
    finally:
        site.succeed("lab", "fault", "n1", "--clear", "--name", NAME)
    expects = fault_named("nvlink-down").expects  # also of active tests, which do not run without --level
    assert _blocking(found) == {check: verdict for check, verdict in expects.items() if not BY_ID[check].is_active}
    assert {check.partition(".")[0] for check in _blocking(found)} == {"nvlink"}


def test_an_unreachable_node_and_a_changed_host_key_are_unknown(site: LabSite, tmp_path: Path) -> None:
    """No server has the address of n2; n1 has the host key of another node. The third node is measured."""
    state = site.copy_state(tmp_path / "state")
    swapped = site.swap_host_keys(tmp_path, "n1")

    def change(values: dict[str, Any]) -> None:
        move(values, "n2", NOWHERE)
        values["access"].update(known_hosts_file=str(swapped))

    with site.variant(change) as variant:
        checks = ("--check", "clock.*", "--check", "perimeter.*")
        found = site.run_json("verify", str(variant), "--state", str(state), *checks, accept=(ExitCode.FAILURE,))
    results = {(result["target"], result["check_id"]): result for result in found["results"]}
    assert results["n2", "perimeter.default-drop"]["verdict"] == "UNKNOWN"
    assert results["n1", "clock.synchronized"]["verdict"] == "UNKNOWN"
    assert "Host key verification failed" in results["n1", "clock.synchronized"]["reason"]
    for node in ("n1", "n2"):
        verdicts = {each["verdict"] for (target, _), each in results.items() if target == node}
        assert verdicts <= {"UNKNOWN", "N/A"}
    assert results["s1", "clock.synchronized"]["verdict"] == "PASS"


def _blocking(found: dict[str, Any]) -> dict[str, str]:
    return {
        result["check_id"]: result["verdict"] for result in found["results"] if result["verdict"] in ("FAIL", "UNKNOWN")
    }
