"""Parser of `nvidia-imex-ctl -N`: the nodes of an IMEX domain, their state and version, and the domain's state.

Source: NVIDIA IMEX guide, "nvidia-imex-ctl" (line `Node #0 * 172.16.0.2 * - READY - Version: 570.124.06`), from memory,
2026-11-28: no capture of a tray was available.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

WHERE = "nvidia-imex-ctl -N"
_NODE = re.compile(r"^Node #(\d+)\s+[*-]?\s*(\S+?)\s*[*-]?\s+-\s+([A-Z_]+)\s+-\s+Version:\s*(\S+)$")
_DOMAIN = re.compile(r"^Domain State:\s*(\S+)$")


@dataclass(frozen=True, slots=True)
class ImexNode:
    """A node of the domain; `state` as printed, READY if it can export memory."""

    index: int
    address: str
    state: str
    version: str


@dataclass(frozen=True, slots=True)
class ImexDomain:
    """Nodes in the order printed. `state` is UP if all nodes are connected."""

    nodes: tuple[ImexNode, ...]
    state: str


def parse_imex(text: str) -> ImexDomain:
    """Parse the output.

    Raises:
        Unreadable: no node or no state of the domain is in it, or the line of a node has an unknown form.
    """
    nodes, state = [], None
    for raw in text.splitlines():
        line = raw.strip()
        if match := _NODE.match(line):
            nodes.append(ImexNode(integer(match[1]), match[2], match[3], match[4]))
        elif line.startswith("Node #"):
            raise Unreadable("`Node #N address - STATE - Version: x`", line, where=WHERE)
        elif match := _DOMAIN.match(line):
            state = match[1]
    if not nodes or state is None:
        raise Unreadable("nodes and `Domain State`", text, where=WHERE)
    return ImexDomain(tuple(nodes), state)
