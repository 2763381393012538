"""Faults: each is seen, and each can be taken away without touching the others."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lab_specimens import GPU_NODE, VERSION, Disk, verdicts

from sovctl.engine.lab.hardware import faults
from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.hardware.fault_table import FAULTS
from sovctl.engine.lab.hardware.fault_tables.check_groups import NCCL_CHECKS, PAIR_CHECKS
from sovctl.engine.lab.hardware.fault_tables.fault import Fault
from sovctl.engine.lab.layout import NODES
from sovctl.engine.lab.standins import (
    container_toolkit,
    dcgm,
    dcgm_diagnostic,
    dmi,
    driver,
    ipmi,
    kernel,
    nccl_tests,
    nvbandwidth,
    nvidia_smi,
    perftest,
    present,
)
from sovctl.support.errors import InputError

HEALTHY = hardware.facts("sovtest", GPU_NODE)
UNDER_LOAD = (*NCCL_CHECKS, *PAIR_CHECKS)  # tested in test_lab_benchmarks.py
SET_FAULTS = st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 7)), max_size=6)


def everything(disk: Disk) -> list[Any]:
    """All that software on the node can see of its hardware."""
    asked = [[], ["-L"], ["-q", "-x"], ["nvlink", "-s"], ["nvlink", "-e"], ["topo", "-m"], ["topo", "-p2p", "r"]]
    answers = [nvidia_smi.answer(disk.board, arguments) for arguments in asked]
    without_time = [(code, [line for line in lines if "timestamp" not in line][1:] or lines) for code, lines in answers]
    views = (
        driver.gpu_files(disk.board),
        kernel.lsmod(disk.board),
        kernel.messages(disk.board),
        dcgm.discovery(disk.board),
        nccl_tests.answer(disk.board, ["-b", "8589934592", "-e", "8589934592", "-g", "8"]),
        nccl_tests.log(disk.board),
        disk.board.facts["nccl"]["hangs"],
        [(perftest.abilities(nic), nic["perftest_hangs"]) for nic in disk.board.nics],
        dcgm_diagnostic.run(disk.board, ["-r", "4", "-j"], "4.6.0"),
        nvbandwidth.answer(disk.board, ["-j", "-t", *nvbandwidth.HOST_TESTS, *nvbandwidth.PEER_TESTS]),
        container_toolkit.answer(disk.board, ["cdi", "list"], "1.19.0"),
        {name: disk.board.facts["driver"][name] for name in ("is_open", "installed_version")},
    )
    asked_of_board = (
        "mc info", "mc selftest", "chassis status", "sdr type Power Supply", "sdr type Fan", "sdr type Temperature",
        "sel info", "sel elist last 100", "sel time get", "lan print 1", "-c user list 1",
    )  # fmt: skip
    views += tuple(ipmi.answer(disk.board, words.split(), now_s=0)[1] for words in asked_of_board)
    views += (dmi.answer(disk.board, []),)
    shown = (present.class_tree(disk.board), present.pci_tree(disk.board))
    return [*without_time, *shown, *views, driver.wanted_version(disk.board)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_every_fault_is_seen_on_the_node(disk: Disk, fault: Fault) -> None:
    disk.lay("usr/lib/sovctl-lab/module-version", "580.126.20")
    before = everything(disk)
    disk.change(faults.with_fault(HEALTHY, fault, 3))
    assert everything(disk) != before


def test_the_checks_pass_a_healthy_node(disk: Disk) -> None:
    assert set(verdicts(disk).values()) == {"PASS"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_the_checks_say_of_a_fault_what_the_table_says(disk: Disk, fault: Fault) -> None:
    disk.change(faults.with_fault(HEALTHY, fault, 3))
    disk.lay("usr/lib/sovctl-lab/module-version", VERSION)
    disk.load(driver.wanted_version(disk.board))
    found = verdicts(disk)
    expected = {check: verdict for check, verdict in fault.expects.items() if check not in UNDER_LOAD}
    assert {check: verdict for check, verdict in found.items() if verdict != "PASS"} == expected


def test_a_loaded_module_stays_at_an_upgrade_and_the_tool_reports_the_mismatch(disk: Disk) -> None:
    disk.change(HEALTHY)
    disk.load(VERSION)
    disk.lay("usr/lib/sovctl-lab/module-version", "580.173.02")
    disk.load(driver.wanted_version(disk.board), library="580.173.02")
    assert nvidia_smi.answer(disk.board, [])[0] == nvidia_smi.LIBRARY_MISMATCH


@given(SET_FAULTS, st.randoms())
def test_taking_all_faults_away_in_any_order_gives_the_healthy_facts(set_faults: list[Any], random: Any) -> None:
    facts = HEALTHY
    for fault, index in set_faults:
        facts = faults.with_fault(facts, fault, index)
    taken = [(faults.fault_named(each["name"]), each["index"]) for each in facts["faults"]]
    random.shuffle(taken)
    for fault, index in taken:
        facts = faults.without_fault(facts, HEALTHY, fault, index)
    assert facts == HEALTHY


@example([(faults.fault_named(name), 0) for name in ("ecc-uncorrectable", "gpu-lost", "ecc-uncorrectable")])
@given(SET_FAULTS)
def test_setting_a_fault_twice_changes_nothing_more(set_faults: list[Any]) -> None:
    once = HEALTHY
    for fault, index in set_faults:
        once = faults.with_fault(once, fault, index)
    twice = once
    for each in once["faults"]:
        twice = faults.with_fault(twice, faults.fault_named(each["name"]), each["index"])
    assert twice == once


def test_the_facts_given_are_never_changed() -> None:
    before = copy.deepcopy(HEALTHY)
    for fault in FAULTS:
        changed = faults.with_fault(HEALTHY, fault, 0)
        faults.without_fault(changed, HEALTHY, fault, 0)
    assert before == HEALTHY


def test_an_edit_by_hand_survives_another_fault() -> None:
    edited = copy.deepcopy(HEALTHY)
    edited["gpus"][0]["pcie_replays"] = 144
    fault = faults.fault_named("nvlink-down")
    mended = faults.without_fault(faults.with_fault(edited, fault, 3), HEALTHY, fault, 3)
    assert mended == edited


def test_a_fault_that_is_not_in_the_table_points_at_the_table() -> None:
    with pytest.raises(InputError, match="got 'flood'") as caught:
        faults.fault_named("flood")
    assert caught.value.hint == "sovctl lab fault --list"


def test_a_part_that_the_node_does_not_have_is_refused() -> None:
    fault = faults.fault_named("nvlink-down")
    with pytest.raises(InputError, match="expected an index of 0 to 7, got 8"):
        faults.with_fault(HEALTHY, fault, 8)
    with pytest.raises(InputError, match="this node has no gpu"):
        faults.with_fault(hardware.facts("sovtest", NODES[2]), fault, 0)


def test_hardware_is_the_same_after_a_rebuild_and_unlike_on_another_node() -> None:
    assert hardware.facts("sovtest", NODES[0]) == HEALTHY
    uuids = [gpu["uuid"] for node in NODES[:2] for gpu in hardware.facts("sovtest", node)["gpus"]]
    assert len(set(uuids)) == 16
    assert "no such device" in HEALTHY["simulated"]
