"""Injects faults of `fault_table.py` into a running node, and clears them.

A fault changes the facts file of the node. Clearing it restores the healthy values, and keeps other faults and manual
edits of other values.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..artifacts.gpu_packages import DRIVER_UNIT, UNITS
from ..layout import Lab, LabNode, Tier
from ..linux import cgroup
from ..linux.process import LabFailure, init_process, run
from ..standins.board import FACTS_FILE
from . import board_files
from . import fabric_processes as fabric
from . import inventory as hardware
from .fault_table import FAULTS
from .fault_tables.fault import Fault, FaultTarget
from .inventory import Facts

DEFAULT_INDEX = 3


def fault_named(name: str) -> Fault:
    """Return the fault with a name.

    Raises:
        InputError: no fault has this name.
    """
    for fault in FAULTS:
        if fault.name == name:
            return fault
    raise InputError(f"expected the name of a fault, got {name!r}", where="FAULT", hint="sovctl lab fault --list")


def with_fault(facts: Facts, fault: Fault, index: int) -> Facts:
    """Return the facts with a fault added.

    Args:
        index: of the GPU or adapter; ignored for a fault of the node.

    Raises:
        InputError: the node has no such device.
    """
    changed = copy.deepcopy(facts)
    index = _index_of(fault, index)
    for path, value in fault.changes.items():
        _set(changed, _full_path(facts, fault, index, path), copy.deepcopy(value))
    entry = {"name": fault.name, "index": index}
    changed["faults"] = [each for each in facts["faults"] if each != entry] + [
        entry
    ]  # the fault that was injected last determines shared values
    return changed


def without_fault(facts: Facts, healthy: Facts, fault: Fault, index: int) -> Facts:
    """Return the facts without a fault: its values are the healthy ones, unless another fault sets them."""
    changed = copy.deepcopy(facts)
    index = _index_of(fault, index)
    for path in fault.changes:
        full = _full_path(facts, fault, index, path)
        _set(changed, full, copy.deepcopy(_get(healthy, full)))
    changed["faults"] = [each for each in facts["faults"] if each != {"name": fault.name, "index": index}]
    for each in list(changed["faults"]):
        changed = with_fault(changed, fault_named(each["name"]), each["index"])
    return changed


def active(lab: Lab, node: LabNode) -> list[tuple[str, int]]:
    """Return name and index of the injected faults of a node, in the order of injection."""
    return [(each["name"], each["index"]) for each in _read(lab, node)["faults"]]


def set_fault(lab: Lab, node: LabNode, fault: Fault, *, index: int = DEFAULT_INDEX) -> None:
    """Inject a fault into a running node."""
    _write(lab, node, with_fault(_read(lab, node), fault, index))


def clear_fault(lab: Lab, node: LabNode, fault: Fault | None, *, index: int = DEFAULT_INDEX) -> None:
    """Clear a fault of a running node; all faults if `fault` is None."""
    facts, healthy = _read(lab, node), hardware.facts(lab.name, node)
    wanted = [(fault, index)] if fault else [(fault_named(name), at) for name, at in active(lab, node)]
    for each, at in wanted:
        facts = without_fault(facts, healthy, each, at)
    _write(lab, node, facts)


def _read(lab: Lab, node: LabNode) -> Facts:
    if node.tier is Tier.VM:
        raise InputError(f"{node.name} is a virtual machine without simulated hardware", where="NODE")
    file = lab.root(node) / FACTS_FILE
    try:
        found: Facts = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise LabFailure(
            f"the hardware facts of {node.name} are unreadable ({error})", hint="sovctl lab down, then up"
        ) from None
    return found


def _write(lab: Lab, node: LabNode, facts: Facts) -> None:
    """Write the facts, and restart the units that present them."""
    write_atomic(lab.root(node) / FACTS_FILE, hardware.text(facts))
    pid = init_process(cgroup.members(lab.machine(node)))
    units = [unit for unit in (board_files.UNIT, DRIVER_UNIT) if (lab.root(node) / UNITS / unit).exists()]
    run(
        ["nsenter", f"--target={pid}", "--all", "systemctl", "try-restart", *units],
        purpose=f"present the changed hardware of {node.name}",
        timeout_s=60,
    )
    if facts["nics"]:
        fabric.update(lab, node)


def _index_of(fault: Fault, index: int) -> int:
    """Return the index of a fault; 0 for a fault of the node, which has no index."""
    return 0 if fault.target is FaultTarget.NODE else index


def _full_path(facts: Facts, fault: Fault, index: int, path: str) -> list[str | int]:
    words: list[str | int] = list(path.split("."))
    if fault.target is FaultTarget.NODE:
        return words
    count = len(facts[fault.target.value])
    if count == 0:
        raise InputError(f"this node has no {fault.target.name.lower()}", where="NODE")
    if not 0 <= index < count:
        raise InputError(f"expected an index of 0 to {count - 1}, got {index}", where="--index")
    return [fault.target.value, index, *words]


def _get(tree: Any, path: list[str | int]) -> Any:
    for word in path:
        tree = tree[word]
    return tree


def _set(tree: Any, path: list[str | int], value: Any) -> None:
    _get(tree, path[:-1])[path[-1]] = value
