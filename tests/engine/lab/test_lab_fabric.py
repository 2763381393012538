"""The InfiniBand fabric: its description as a value, its faults, and real subnet managers on it."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab_specimens import OwnLab

from sovctl.engine.checks.definitions.fabric._fabric_check import Expected, FabricCheck
from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.fabric.cabling import parse_plan
from sovctl.engine.fabric.topology import Fabric
from sovctl.engine.facts.fabric.ibnetdiscover import Discovery
from sovctl.engine.facts.fabric.links import Device, DeviceKind, End, Link, speed_of
from sovctl.engine.lab.hardware import fabric_faults, fabric_processes, faults
from sovctl.engine.lab.hardware import infiniband_fabric as fabric
from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.hardware.fabric_faults import FABRIC_FAULTS, FabricFault, with_faults
from sovctl.engine.lab.hardware.infiniband_fabric import Topology
from sovctl.engine.lab.layout import NODES
from sovctl.support.errors import InputError

GPU_NODES = [node for node in NODES if node.kind.has_gpus]
ADAPTERS = {node: hardware.facts("sovtest", node)["nics"] for node in GPU_NODES}
PLANNED = fabric.healthy(ADAPTERS)
EXPECTED = Expected(
    plan=parse_plan(fabric.plan_text(PLANNED))[0],
    adapters=tuple((node.name, len(nics)) for node, nics in ADAPTERS.items()),
    link_gbit_s=200,
)
TOPOLOGY_CHECKS = [check for check in CHECKS if isinstance(check, FabricCheck)]


def discovered(topology: Topology) -> Fabric:
    """The fabric as ibnetdiscover finds it."""
    names = dict.fromkeys(device for each in topology.cables for device, _ in (each.one, each.other))
    devices = tuple(
        Device(
            guid=topology.guids[name],
            kind=DeviceKind.SWITCH if fabric.is_switch(name) else DeviceKind.ADAPTER,
            port_count=41 if fabric.is_switch(name) else 1,
            description=topology.description(name),
            device_id=None,
            lid=lid,
        )
        for lid, name in enumerate(names, start=1)
    )
    links = []
    for each in topology.cables:
        one, other = sorted(End(topology.guids[device], port) for device, port in (each.one, each.other))
        links.append(Link(one, other, speed_of(each.speed, where="test")))
    return Fabric.of(Discovery(devices, tuple(sorted(links, key=lambda link: link.one))))


def verdicts(topology: Topology) -> dict[str, str]:
    """Verdicts of the checks of the topology that do not pass."""
    found = {check.id: check.judge_fabric(discovered(topology), EXPECTED).verdict for check in TOPOLOGY_CHECKS}
    return {check_id: verdict.value for check_id, verdict in found.items() if verdict.value != "PASS"}


def test_every_cable_has_two_ends_and_no_port_has_two_cables() -> None:
    ends = [end for cable in PLANNED.cables for end in (cable.one, cable.other)]
    assert max(Counter(ends).values()) == 1
    text = fabric.network_text(PLANNED)
    assert len(re.findall(r"^\[\d+\]", text, re.MULTILINE)) == len(ends)
    assert text.startswith("# written by sovctl lab: a simulated fabric\n")


def test_guids_of_devices_and_of_their_ports_are_unique() -> None:
    numbers = [int(guid, 16) for guid in PLANNED.guids.values()]
    assert len({*numbers, *(number + 1 for number in numbers)}) == 2 * len(numbers)


def test_every_rail_has_its_own_leaf_and_every_leaf_is_on_every_spine() -> None:
    for node, nics in ADAPTERS.items():
        for nic in nics:
            (cable,) = PLANNED.at((fabric.adapter(node, nic), 1))
            assert cable.one[0] == f"leaf{nic['rail'] + 1}"
    for rail in range(1, 9):
        spines = Counter(
            cable.other[0]
            for cable in PLANNED.cables
            if cable.one[0] == f"leaf{rail}" and cable.other[0].startswith("spine")
        )
        assert spines == dict.fromkeys(("spine1", "spine2"), fabric.CABLES_PER_SPINE)


def test_the_fabric_and_the_nodes_agree_on_every_adapter() -> None:
    text = fabric.network_text(PLANNED)
    for node, nics in ADAPTERS.items():
        for nic in nics:
            assert f'caguid=0x{nic["guid"]}\nHca\t1 "{fabric.adapter(node, nic)}"' in text


def test_the_simulator_is_told_what_the_facts_say() -> None:
    facts = hardware.facts("sovtest", GPU_NODES[0])
    broken = faults.with_fault(facts, faults.fault_named("ib-link-down"), 5)
    said = list(fabric.node_commands(GPU_NODES[0], broken["nics"]))
    assert 'Unlink "n1-mlx5_5"' in said
    assert sum(command.startswith("ReLink") for command in said) == 7


def test_the_planned_fabric_passes_every_check_of_the_topology() -> None:
    assert verdicts(PLANNED) == {}


@pytest.mark.parametrize("fault", FABRIC_FAULTS, ids=lambda each: each.name)
def test_a_fault_is_found_by_exactly_the_checks_of_the_table(fault: FabricFault) -> None:
    """Counters and subnet managers need ibsim; `test_check_lab.py` measures these."""
    known = {check.id for check in TOPOLOGY_CHECKS}
    assert verdicts(fault.change(PLANNED)) == {key: each for key, each in fault.expects.items() if key in known}
    assert fault.change(PLANNED) != PLANNED


def test_faults_can_be_combined_in_any_number() -> None:
    names = [each.name for each in FABRIC_FAULTS]
    everything = with_faults(PLANNED, names)
    assert everything == with_faults(PLANNED, reversed(names))
    assert verdicts(everything).keys() <= {check.id for check in TOPOLOGY_CHECKS}
    assert fabric.network_text(everything) != fabric.network_text(PLANNED)
    assert with_faults(PLANNED, []) == PLANNED


def test_a_swap_names_both_ends_of_both_cables() -> None:
    fault = fabric_faults.fabric_fault_named("fabric-cables-swapped")
    (check,) = (each for each in TOPOLOGY_CHECKS if each.id == "fabric.cabling-as-planned")
    reason = check.judge_fabric(discovered(fault.change(PLANNED)), EXPECTED).reason
    assert "leaf5 port 1 connected to n1-mlx5_4 port 1" in reason
    assert "leaf5 port 1 connected to n1-mlx5_5 port 1" in reason


def test_the_documentation_lists_every_fault_with_its_checks() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/lab.md").read_text()
    for fault in FABRIC_FAULTS:
        checks = ", ".join(f"`{check}` {verdict}" for check, verdict in fault.expects.items())
        assert f"| `{fault.name}` | {fault.shows} | {checks} |" in page


def test_an_unknown_fault_of_the_fabric_points_at_the_table() -> None:
    with pytest.raises(InputError, match="got 'flood'") as caught:
        fabric_faults.fabric_fault_named("flood")
    assert caught.value.hint == "sovctl lab fault --list"


def ask(own_lab: OwnLab, *words: str) -> str:
    command = fabric_processes.tool_command(own_lab.lab, list(words))
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout


def until(own_lab: OwnLab, words: tuple[str, ...], is_so: Any) -> None:
    """Ask again until the subnet manager has swept."""
    deadline = time.monotonic() + 20
    while not is_so(text := ask(own_lab, *words)):
        assert time.monotonic() < deadline, text[-500:]


@pytest.mark.lab
def test_real_subnet_managers_see_every_adapter(own_lab: OwnLab) -> None:
    text = ask(own_lab, "ibhosts")
    assert all(f'"{fabric.adapter(node, nic)}"' in text for node, nics in ADAPTERS.items() for nic in nics)
    assert "SMINFO_MASTER" in ask(own_lab, "sminfo")
    assert ask(own_lab, "saquery", "SMIR").count("SMInfoRecord") == 2


@pytest.mark.lab
@pytest.mark.parametrize("tool", ["ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "sminfo"])
def test_the_tools_run_on_the_probe_node(own_lab: OwnLab, tool: str) -> None:
    text = own_lab.on(fabric_processes.probe_node(own_lab.lab), f"sudo {tool}")
    assert {
        "ibnetdiscover": '"host-3-mlx5_2"',
        "iblinkinfo": "53.125 Gbps Active",
        "ibqueryerrors": "0 bad nodes found",
        "perfquery": "SymbolErrorCounter",
        "sminfo": "SMINFO_MASTER",
    }[tool] in text


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
    until(own_lab, ("ibqueryerrors",), lambda text: "SymbolErrorCounter" not in text)
