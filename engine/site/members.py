"""Nodes that sovctl manages, as `members.json` in the state folder: the nodes of applied plans.

A member that site.yaml no longer contains is a removed node; its removal is planned until it is complete, or until
`sovctl node forget`. A member whose address a node of site.yaml has is a renamed node, which is not removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError
from sovctl.support.strict_yaml import read_text

from ..spec import Node, SiteSpec
from .applied import newest

FILE = "members.json"


def load(root: Path, applied: Path) -> dict[str, Node]:
    """Return the members by name.

    Args:
        root: state folder.
        applied: folder of applied site descriptions. Without a registry, the newest one contains the members.

    Raises:
        InputError: the registry, or the newest description, is invalid. A plan would miss removed nodes then.
    """
    path = root / FILE
    try:
        value = json.loads(path.read_text())
        return {name: Node(name=name, address=address) for name, address in value["nodes"].items()}
    except FileNotFoundError:
        return _of_newest(applied)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"unreadable registry of nodes ({type(error).__name__})",
            where=str(path),
            hint="restore the file from a backup",
        ) from None


def removed(members: dict[str, Node], spec: SiteSpec) -> tuple[Node, ...]:
    """Return the members that site.yaml no longer contains, sorted by name, without renamed nodes."""
    names = {node.name for _, node in spec.nodes()}
    addresses = {node.address for _, node in spec.nodes()}
    gone = (node for name, node in sorted(members.items()) if name not in names)
    return tuple(node for node in gone if node.address not in addresses)


def register(root: Path, members: dict[str, Node], spec: SiteSpec, nodes: Iterable[str]) -> None:
    """Add nodes of site.yaml to the registry, before their first change.

    Args:
        nodes: names; unknown names are ignored.
    """
    known = {node.name: node for _, node in spec.nodes()}
    kept = {node.name: node for node in removed(members, spec)}
    kept |= {name: node for name, node in members.items() if name in known}
    _save(root, kept | {name: known[name] for name in nodes if name in known})


def drop(root: Path, members: dict[str, Node], name: str) -> None:
    """Remove a node from the registry."""
    _save(root, {each: node for each, node in members.items() if each != name})


def _save(root: Path, members: dict[str, Node]) -> None:
    nodes = {name: str(node.address) for name, node in members.items()}
    write_atomic(root / FILE, json.dumps({"nodes": nodes}, indent=1, sort_keys=True) + "\n", mode=0o600)


def _of_newest(applied: Path) -> dict[str, Node]:
    """Return the nodes of the newest applied description; empty without one."""
    found = newest(applied)
    if found is None:
        return {}
    record, data = found
    try:
        groups = read_text(data).value["node_groups"]
        nodes = [Node(name=each["name"], address=each["address"]) for group in groups for each in group["nodes"]]
    except (ValueError, KeyError, TypeError):
        where = str(applied / f"{record.run}.yaml")
        raise InputError("the applied site description has no nodes", where=where) from None
    return {node.name: node for node in nodes}
