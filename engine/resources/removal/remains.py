"""Remains of sovctl on a node: the probe and its parser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sovctl.support.errors import SovctlError
from sovctl.support.package_files import package_folder

from ...facts.node import NodeFacts
from .steps import STEPS, kept

PROGRAM = package_folder("engine/facts/probes") / "remains_probe.py"
QUERY = "remains"
TABLE = "inet sovctl"


@dataclass(frozen=True)
class Remains:
    """Things of sovctl on a node.

    Args:
        paths: files and folders by step, sorted.
        blocks: files with a block that sovctl wrote.
        table: whether the kernel has the firewall table of sovctl.
    """

    paths: Mapping[str, tuple[str, ...]]
    accounts: tuple[str, ...]
    groups: tuple[str, ...]
    blocks: tuple[str, ...]
    table: bool


def command() -> list[str]:
    """Return the read-only command that finds the remains."""
    request = {
        "paths": {step.name: list(step.paths) for step in STEPS if step.paths},
        "kept": kept(),
        "accounts": [name for step in STEPS for name in step.accounts],
        "groups": [name for step in STEPS for name in step.groups],
        "blocks": {path: begin for step in STEPS for path, (begin, _) in step.blocks.items()},
    }
    return ["python3", "-c", PROGRAM.read_text(), "find", json.dumps(request)]


def parse_remains(facts: NodeFacts) -> Remains:
    """Return the remains in the facts of a node.

    Raises:
        SovctlError: they were not measured.
    """
    text = facts.answer(QUERY)
    try:
        found = json.loads(text)
        return Remains(
            paths={str(step): tuple(map(str, paths)) for step, paths in found["paths"].items()},
            accounts=tuple(map(str, found["accounts"])),
            groups=tuple(map(str, found["groups"])),
            blocks=tuple(map(str, found["blocks"])),
            table=any(line.startswith(f"table {TABLE} ") for line in facts.ruleset or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SovctlError("the remains of sovctl were not measured", where=f"node {facts.node}") from None
