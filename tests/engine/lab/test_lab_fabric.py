"""The InfiniBand fabric: its description as a value, and a real subnet manager on it."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from typing import Any

import pytest
from lab_specimens import OwnLab

from sovctl.engine.lab.hardware import faults
from sovctl.engine.lab.hardware import infiniband_fabric as fabric
from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.layout import NODES

GPU_NODES = [node for node in NODES if node.kind.has_gpus]
ADAPTERS = {node: hardware.facts("sovtest", node)["nics"] for node in GPU_NODES}


def test_every_cable_has_two_ends_and_no_port_has_two_cables() -> None:
    ends = [end for cable in fabric.cables(ADAPTERS) for end in cable]
    assert max(Counter(ends).values()) == 1
    text = fabric.network_text(ADAPTERS)
    assert len(re.findall(r"^\[\d+\]", text, re.MULTILINE)) == len(ends)


def test_every_rail_has_its_own_leaf_and_every_leaf_is_on_every_spine() -> None:
    found = fabric.cables(ADAPTERS)
    for node, nics in ADAPTERS.items():
        for nic in nics:
            leaves = [one[0] for one, other in found if other[0] == fabric.adapter(node, nic)]
            assert leaves == [f"leaf{nic['rail'] + 1}"]
    for rail in range(1, 9):
        spines = {other[0] for one, other in found if one[0] == f"leaf{rail}" and other[0].startswith("spine")}
        assert len(spines) == fabric.SPINES


def test_the_fabric_and_the_nodes_agree_on_every_adapter() -> None:
    text = fabric.network_text(ADAPTERS)
    for node, nics in ADAPTERS.items():
        for nic in nics:
            assert f'caguid=0x{nic["guid"]}\nHca\t1 "{fabric.adapter(node, nic)}"' in text


def test_the_simulator_is_told_what_the_facts_say() -> None:
    facts = hardware.facts("sovtest", GPU_NODES[0])
    broken = faults.with_fault(facts, faults.fault_named("ib-link-down"), 5)
    said = list(fabric.commands(GPU_NODES[0], broken["nics"]))
    assert 'Unlink "n1-mlx5_5"' in said
    assert sum(command.startswith("ReLink") for command in said) == 7


def ask(own_lab: OwnLab, *words: str) -> str:
    done = subprocess.run(fabric.tool_command(own_lab.lab, list(words)), capture_output=True, text=True, timeout=30)
    return done.stdout


def until(own_lab: OwnLab, words: tuple[str, ...], is_so: Any) -> None:
    """Ask again until the subnet manager has swept."""
    deadline = time.monotonic() + 20
    while not is_so(text := ask(own_lab, *words)):
        assert time.monotonic() < deadline, text[-500:]


@pytest.mark.lab
def test_a_real_subnet_manager_sees_every_adapter(own_lab: OwnLab) -> None:
    text = ask(own_lab, "ibhosts")
    assert all(f'"{fabric.adapter(node, nic)}"' in text for node, nics in ADAPTERS.items() for nic in nics)
    assert "SMINFO_MASTER" in ask(own_lab, "sminfo")


@pytest.mark.lab
def test_a_cut_link_is_gone_from_the_node_and_from_the_fabric(own_lab: OwnLab) -> None:
    node = GPU_NODES[1]
    fault = faults.fault_named("ib-link-down")
    faults.set_fault(own_lab.lab, node, fault, index=6)
    assert own_lab.on(node, "cat /sys/class/infiniband/mlx5_6/ports/1/state").strip() == "1: DOWN"
    until(own_lab, ("ibhosts",), lambda text: '"n2-mlx5_6"' not in text and '"n2-mlx5_5"' in text)
    faults.clear_fault(own_lab.lab, node, fault, index=6)
    assert own_lab.on(node, "cat /sys/class/infiniband/mlx5_6/ports/1/state").strip() == "4: ACTIVE"
    until(own_lab, ("ibhosts",), lambda text: '"n2-mlx5_6"' in text)


@pytest.mark.lab
def test_symbol_errors_are_counted_on_the_fabric(own_lab: OwnLab) -> None:
    fault = faults.fault_named("ib-symbol-errors")
    faults.set_fault(own_lab.lab, GPU_NODES[0], fault, index=2)
    until(own_lab, ("ibqueryerrors",), lambda text: "SymbolErrorCounter == 65535" in text)
    faults.clear_fault(own_lab.lab, GPU_NODES[0], None)
    until(own_lab, ("ibqueryerrors",), lambda text: "0 bad nodes found" in text)
