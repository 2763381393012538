"""What can be broken on a node on purpose: a table of changes to its hardware facts, and what a check should say then.

A fault changes the facts file of a running node; clearing it puts the healthy values back and leaves every other fault
where it is. Edits made by hand elsewhere in the file stay.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sovctl.compliance.errors import InputError
from sovctl.compliance.files import write_atomic
from sovctl.engine.lab import board_files, cgroup, fabric, hardware
from sovctl.engine.lab.gpu_packages import DRIVER_UNIT, UNITS
from sovctl.engine.lab.hardware import Facts
from sovctl.engine.lab.layout import Lab, LabNode
from sovctl.engine.lab.process import LabFailure, init_process, run
from sovctl.engine.lab.standins.board import FACTS_FILE

DEFAULT_INDEX = 3


class Part(StrEnum):
    """What a fault is about; the name of the list in the facts file."""

    GPU = "gpus"
    ADAPTER = "nics"
    NODE = ""


@dataclass(frozen=True)
class Fault:
    """One way of being broken."""

    name: str
    part: Part
    changes: dict[str, Any]
    """Path below the part, with dots, to the value that it gets."""
    shows: str
    """Where it is seen."""
    expects: dict[str, str]
    """Verdict by check id, of every hardware check that then says anything but PASS."""


def _of(checks: tuple[str, ...], verdict: str) -> dict[str, str]:
    return dict.fromkeys(checks, verdict)


_GPU_CHECKS = ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link", "gpu.temperature")
# The counters of a link that is down are not printed, so nobody knows that they are zero.
_LINKS_DOWN = {"nvlink.links-active": "FAIL", "nvlink.peer-access": "FAIL", "nvlink.errors-zero": "UNKNOWN"}

FAULTS = (
    Fault(
        "nvlink-down", Part.GPU, {"nvlinks.inactive": [7]},
        "nvlink -s: link 7 <inactive>; topo -m: NV17", _LINKS_DOWN,
    ),
    Fault(
        "nvlinks-all-down", Part.GPU, {"nvlinks.inactive": list(range(18))},
        "nvlink -s: all links are inactive; topo -p2p: NS", _LINKS_DOWN,
    ),
    Fault(
        "nvlink-errors", Part.GPU, {"nvlinks.errors": {"4": {"replay": 12, "recovery": 1, "crc": 40}}},
        "nvlink -e: link 4 counts", {"nvlink.errors-zero": "FAIL"},
    ),
    Fault(
        "gpu-lost", Part.GPU, {"is_lost": True, "recovery_action": "Reboot"},
        "-q -x: GPU is lost; exit code 15", {
            "gpu.count": "FAIL",
            **_of(("gpu.ecc", "gpu.row-remap", "gpu.temperature"), "UNKNOWN"),
            **_LINKS_DOWN,
            "nvlink.fabric-ready": "FAIL",
        },
    ),
    Fault(
        "gpu-off-bus", Part.GPU, {"on_bus": False},
        "-q -x and lspci: seven GPUs", {**_of(_GPU_CHECKS, "FAIL"), **_LINKS_DOWN, "nvlink.fabric-ready": "FAIL"},
    ),
    Fault(
        "ecc-uncorrectable", Part.GPU,
        {
            "ecc.volatile.dram_uncorrectable": 5,
            "ecc.aggregate.dram_uncorrectable": 8,
            "remapped_rows.uncorrectable": 1,
            "remapped_rows.pending": "Yes",
            "recovery_action": "Reset",
        },
        "-q -x: dram_uncorrectable 5, a row to remap", {"gpu.count": "FAIL", "gpu.ecc": "FAIL", "gpu.row-remap": "WARN"},
    ),
    Fault(
        "ecc-disabled", Part.GPU, {"ecc.mode": "Disabled"},
        "-q -x: current_ecc Disabled", {"gpu.ecc": "FAIL"},
    ),
    Fault(
        "row-remap-failure", Part.GPU, {"remapped_rows.uncorrectable": 1, "remapped_rows.failure": "Yes"},
        "-q -x: remapped_row_failure Yes", {"gpu.row-remap": "FAIL"},
    ),
    Fault(
        "fabric-degraded", Part.GPU,
        {
            "fabric.health": {
                "summary": "Unhealthy",
                "bandwidth": "Full",
                "route_recovery_in_progress": "False",
                "route_unhealthy": "True",
                "access_timeout_recovery": "False",
                "incorrect_configuration": "None",
            }
        },
        "-q -x: Completed and Success, but health Unhealthy", {"nvlink.fabric-ready": "FAIL"},
    ),
    Fault(
        "fabric-stuck", Part.GPU, {"fabric.is_stuck": True},
        "-q -x: fabric In Progress; topo -p2p: NS", _of(("nvlink.peer-access", "nvlink.fabric-ready"), "FAIL"),
    ),
    Fault(
        "link-downgraded", Part.GPU, {"pcie_gen": 1, "pcie_width": 8},
        "-q -x and sysfs: PCIe gen 1, width 8x", {"gpu.pcie-link": "FAIL"},
    ),
    Fault(
        "overheated", Part.GPU,
        {
            "temperature_c": 90,
            "temperature_margin_c": -3,
            "hw_slowdown": "Active",
            "hw_thermal_slowdown": "Active",
        },
        "-q -x: 90 C, hardware slowdown Active", {"gpu.temperature": "FAIL"},
    ),
    Fault(
        "driver-unloaded", Part.NODE, {"driver.loads": False},
        "nvidia-smi exits 9; no /proc/driver/nvidia/version", _of((*_GPU_CHECKS, *_LINKS_DOWN, "nvlink.fabric-ready"), "UNKNOWN"),
    ),
    Fault(
        "driver-stays-loaded", Part.NODE, {"driver.swaps_while_loaded": False},
        "after an upgrade nvidia-smi exits 18 until the node reboots", {},
    ),
    Fault(
        "ib-link-down", Part.ADAPTER, {"state": "1: DOWN", "phys_state": "2: Polling", "link_downed": 1},
        "sysfs and ibstat: port down; the fabric loses the adapter", {"ib.ports-active": "FAIL"},
    ),
    Fault(
        "ib-link-slow", Part.ADAPTER, {"rate": "200 Gb/sec (4X HDR)"},
        "sysfs: 200 Gb/sec", {"ib.ports-active": "FAIL"},
    ),
    Fault(
        "ib-symbol-errors", Part.ADAPTER, {"symbol_errors": 480},
        "sysfs: counters/symbol_error 480; ibqueryerrors on the fabric", {},
    ),
)  # fmt: skip


def fault_named(name: str) -> Fault:
    """The fault of that name.

    Raises:
        InputError: there is none.
    """
    for fault in FAULTS:
        if fault.name == name:
            return fault
    raise InputError(f"expected the name of a fault, got {name!r}", where="FAULT", hint="sovctl lab fault --list")


def with_fault(facts: Facts, fault: Fault, index: int) -> Facts:
    """The facts with a fault added.

    Args:
        index: of the GPU or adapter; of no meaning for a fault of the node.

    Raises:
        InputError: the node has no such part.
    """
    changed = copy.deepcopy(facts)
    index = _meant(fault, index)
    for path, value in fault.changes.items():
        _set(changed, _full(facts, fault, index, path), copy.deepcopy(value))
    entry = {"name": fault.name, "index": index}
    if entry not in changed["faults"]:
        changed["faults"].append(entry)
    return changed


def without_fault(facts: Facts, healthy: Facts, fault: Fault, index: int) -> Facts:
    """The facts with a fault taken away: its values are the healthy ones again, unless another fault sets them."""
    changed = copy.deepcopy(facts)
    index = _meant(fault, index)
    for path in fault.changes:
        full = _full(facts, fault, index, path)
        _set(changed, full, copy.deepcopy(_get(healthy, full)))
    changed["faults"] = [each for each in facts["faults"] if each != {"name": fault.name, "index": index}]
    for each in list(changed["faults"]):
        changed = with_fault(changed, fault_named(each["name"]), each["index"])
    return changed


def active(lab: Lab, node: LabNode) -> list[tuple[str, int]]:
    """Name and index of the faults that a node has now, in the order in which they were set."""
    return [(each["name"], each["index"]) for each in _read(lab, node)["faults"]]


def set_fault(lab: Lab, node: LabNode, fault: Fault, *, index: int = DEFAULT_INDEX) -> None:
    """Break a running node."""
    _write(lab, node, with_fault(_read(lab, node), fault, index))


def clear_fault(lab: Lab, node: LabNode, fault: Fault | None, *, index: int = DEFAULT_INDEX) -> None:
    """Mend a running node: one fault, or all of them when `fault` is None."""
    facts, healthy = _read(lab, node), hardware.facts(lab.name, node)
    wanted = [(fault, index)] if fault else [(fault_named(name), at) for name, at in active(lab, node)]
    for each, at in wanted:
        facts = without_fault(facts, healthy, each, at)
    _write(lab, node, facts)


def _read(lab: Lab, node: LabNode) -> Facts:
    file = lab.root(node) / FACTS_FILE
    try:
        found: Facts = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise LabFailure(
            f"the hardware facts of {node.name} cannot be read ({error})", hint="sovctl lab down, then up"
        ) from None
    return found


def _write(lab: Lab, node: LabNode, facts: Facts) -> None:
    """Lay the facts and have the node show them."""
    write_atomic(lab.root(node) / FACTS_FILE, hardware.text(facts))
    pid = init_process(cgroup.members(lab.machine(node)))
    units = [unit for unit in (board_files.UNIT, DRIVER_UNIT) if (lab.root(node) / UNITS / unit).exists()]
    run(
        ["nsenter", f"--target={pid}", "--all", "systemctl", "try-restart", *units],
        purpose=f"show {node.name} its changed hardware",
        timeout_s=60,
    )
    if facts["nics"]:
        fabric.follow(lab, node)


def _meant(fault: Fault, index: int) -> int:
    """A fault of the node has no index; 0 stands for it, so that it is there once."""
    return 0 if fault.part is Part.NODE else index


def _full(facts: Facts, fault: Fault, index: int, path: str) -> list[str | int]:
    words: list[str | int] = list(path.split("."))
    if fault.part is Part.NODE:
        return words
    count = len(facts[fault.part.value])
    if count == 0:
        raise InputError(f"expected a node that has a {fault.part.name.lower()}, got one without", where="NODE")
    if not 0 <= index < count:
        raise InputError(f"expected an index of 0 to {count - 1}, got {index}", where="--index")
    return [fault.part.value, index, *words]


def _get(tree: Any, path: list[str | int]) -> Any:
    for word in path:
        tree = tree[word]
    return tree


def _set(tree: Any, path: list[str | int], value: Any) -> None:
    _get(tree, path[:-1])[path[-1]] = value
