"""Breaking a node on purpose, and mending it; what can be broken is in `fault_table`.

A fault changes the facts file of a running node; clearing it puts the healthy values back and leaves every other fault
where it is. Edits made by hand elsewhere in the file stay.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..artifacts.gpu_packages import DRIVER_UNIT, UNITS
from ..layout import Lab, LabNode
from ..linux import cgroup
from ..linux.process import LabFailure, init_process, run
from ..standins.board import FACTS_FILE
from . import board_files
from . import infiniband_fabric as fabric
from . import inventory as hardware
from .fault_table import FAULTS, Fault, FaultTarget
from .inventory import Facts

DEFAULT_INDEX = 3


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
    changed["faults"] = [each for each in facts["faults"] if each != entry] + [entry]  # the last one's values hold
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
    return 0 if fault.target is FaultTarget.NODE else index


def _full(facts: Facts, fault: Fault, index: int, path: str) -> list[str | int]:
    words: list[str | int] = list(path.split("."))
    if fault.target is FaultTarget.NODE:
        return words
    count = len(facts[fault.target.value])
    if count == 0:
        raise InputError(f"expected a node that has a {fault.target.name.lower()}, got one without", where="NODE")
    if not 0 <= index < count:
        raise InputError(f"expected an index of 0 to {count - 1}, got {index}", where="--index")
    return [fault.target.value, index, *words]


def _get(tree: Any, path: list[str | int]) -> Any:
    for word in path:
        tree = tree[word]
    return tree


def _set(tree: Any, path: list[str | int], value: Any) -> None:
    _get(tree, path[:-1])[path[-1]] = value
