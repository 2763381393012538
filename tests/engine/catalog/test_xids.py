"""Xid policy: the action follows from code, driver branch and text, and is unknown for all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sovctl.engine.catalog.xids import UNDOCUMENTED, load_xids, xid_policy, xid_verdict
from sovctl.engine.facts.hardware.kernel_log import parse_kernel_log

LINK_DOWN = "NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000 0x00000000 0x00000000)"


@pytest.mark.parametrize(
    ("code", "action"),
    [(79, "RESTART_BM"), (119, "RESET_GPU"), (63, "IGNORE"), (92, "IGNORE"), (68, "RESTART_APP"), (999, UNDOCUMENTED)],
)
def test_a_code_has_the_documented_action(code: int, action: str) -> None:
    assert xid_policy(code, 580, "") == action


def test_code_154_reads_its_text() -> None:
    assert (
        xid_policy(154, 580, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)") == "RESET_GPU"
    )
    assert xid_policy(154, 580, "something else") == UNDOCUMENTED


def test_registers_are_decoded_by_the_layout_of_the_branch() -> None:
    assert xid_policy(149, 570, LINK_DOWN) == "RESET_GPU"
    assert xid_policy(149, 580, LINK_DOWN) == UNDOCUMENTED
    assert xid_policy(149, 570, "NETIR_LINK_EVT Fatal, no registers") == UNDOCUMENTED


def test_every_action_has_an_effect() -> None:
    catalog = load_xids()
    decoded = {rule.action for rules in catalog.nvlink5.values() for rule in rules} - {"READ_154"}
    assert all(xid_verdict(action) for action in {*catalog.actions, *catalog.recovery_actions.values(), *decoded})
    assert sum(map(len, catalog.nvlink5.values())) == 95
    assert xid_verdict(UNDOCUMENTED) is None


@pytest.mark.shared
def test_actions_are_those_of_the_vendors_catalogue(captures: Path) -> None:
    rows = json.loads((captures / "catalog/xid-catalog__oracle-quickstart-oci-hpc.json").read_text())
    for code, row in rows["xid_error_catalog"].items():
        found = xid_policy(int(code), 580, "")
        assert found in (row["action"], UNDOCUMENTED), code


@pytest.mark.shared
def test_a_real_log_has_five_xids_119_of_one_gpu(captures: Path) -> None:
    text = (captures / "kernel-log/8xh100-xid119__leptonai-gpud.log").read_text()
    found = parse_kernel_log("[Sun Feb 23 10:00:00 2025] Linux version 5.15.0\n" + text).xids
    assert {(each.address, each.code) for each in found} == {("0000:9b:00", 119)}
    assert len(found) == text.count("Xid (PCI")
