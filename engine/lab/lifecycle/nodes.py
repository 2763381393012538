"""Operations on nodes of both tiers: containers and virtual machines."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..hardware import board_files, fabric_processes
from ..layout import Lab, LabNode, Tier
from ..linux import mounts
from ..linux.process import ProcessId
from ..node import node
from ..vm import encrypted_volume, machine


class Operations(Protocol):
    """Functions of the module of a tier."""

    def authorize(self, lab: Lab, node: LabNode, public_key: str) -> None:
        """Add a public key to the authorized keys of the operator."""

    def boot(self, lab: Lab, node: LabNode) -> None:
        """Start the node. Returns before the node answers."""

    def process(self, lab: Lab, node: LabNode) -> ProcessId | None:
        """Return the process of a running node; None if it is off."""

    def console(self, lab: Lab, node: LabNode) -> Path:
        """Return the file with the console output."""

    def forget(self, lab: Lab, node: LabNode) -> None:
        """Remove the process records."""


_OPERATIONS: dict[Tier, Operations] = {Tier.CONTAINER: node, Tier.VM: machine}
BOOT_LIMIT_S = {Tier.CONTAINER: 60.0, Tier.VM: 900.0}
"""Time until a node answers. Measured: 1.4 s for three containers, two idle cores; 62 s for a virtual machine, one idle
core. The limits are for a loaded machine."""


def of(each: LabNode) -> Operations:
    """Return the operations on a node."""
    return _OPERATIONS[each.tier]


def make(lab: Lab, each: LabNode, drives: Path | None) -> None:
    """Create the disk of a node.

    Args:
        drives: folder of the cached drives of virtual machines; None for containers.
    """
    if each.tier is Tier.CONTAINER:
        node.make_disk(lab, each)
        board_files.write(lab, each)
        fabric_processes.install_tools(lab, each)
    else:
        assert drives is not None, "a lab with virtual machines has their drives"
        machine.make_disk(lab, each, drives)


def has_disk(lab: Lab, each: LabNode) -> bool:
    """Return whether the disk of a node exists."""
    return mounts.is_mounted(lab.root(each)) if each.tier is Tier.CONTAINER else machine.has_disk(lab, each)


def prepare(lab: Lab, each: LabNode, public_key: str) -> None:
    """Complete a virtual machine that answers: keys of the operator, and the encrypted volume."""
    if each.tier is Tier.VM:
        machine.authorize(lab, each, public_key)
        encrypted_volume.ensure(lab, each)
