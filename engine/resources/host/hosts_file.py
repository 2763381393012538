"""/etc/hosts: every node of the site resolves the names of all nodes to their addresses in site.yaml.

The observed state is the address that the resolver of glibc returns: the first line with the name (hosts(5)).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

FILE = "/etc/hosts"
BEGIN, END = "# BEGIN sovctl: nodes of site.yaml", "# END sovctl: nodes of site.yaml"


def _expect(context: Context, _node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    entries = context.once(_entries)
    yield Desired(
        kind="hosts_file",
        name="nodes",
        state={"entries": entries, "former": []},
        why="names of the site's nodes without a name server",
        variables={"entries": entries, "begin": BEGIN, "end": END},
    )


def _entries(context: Context) -> list[str]:
    return [f"{node.address} {node.name}" for _, node in context.spec.nodes()]


def addresses(text: str) -> dict[str, str]:
    """Return the first address of each name in a hosts file."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            found.setdefault(name, address)
    return found


def _block(text: str) -> dict[str, str]:
    """Return the names in the block that sovctl wrote."""
    _, found, rest = text.partition(BEGIN)
    return addresses(rest.partition(END)[0]) if found else {}


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    text = facts.texts.get(FILE)
    if text is None:
        return None
    names = dict.fromkeys(entry.split()[1] for entry in desired.variables["entries"])
    resolved = addresses(text)
    return {
        "entries": [f"{resolved[name]} {name}" for name in names if name in resolved],
        "former": [name for name in _block(text) if name not in names],
    }


RESOURCE_TYPE = ResourceType("hosts_file", _expect, _observe, lambda _context, _node: Query(read=(FILE,)))
