"""Part of a site that a plan covers: the nodes of `--limit` and the resources of `--target`. Pure.

- Nodes of one replica are covered together, because its ranks restart together.
- A change outside of the scope is not planned. A restart that a planned change requires is planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.suggestions import nearest

from ..resources.context import Context
from ..resources.resource import Desired


@dataclass(frozen=True)
class Scope:
    """The nodes and resources of a plan.

    Args:
        nodes: names in the order of site.yaml; empty for all nodes.
        targets: patterns of `--target`: a resource type, or type and name (`package/nvidia-*`); empty for all.
    """

    nodes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def has_node(self, name: str) -> bool:
        """Return whether the plan covers a node."""
        return not self.nodes or name in self.nodes

    def has(self, desired: Desired) -> bool:
        """Return whether the plan covers a resource."""
        return not self.targets or any(
            fnmatchcase(f"{desired.kind}/{desired.name}" if "/" in target else desired.kind, target)
            for target in self.targets
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the plan file."""
        return {"nodes": list(self.nodes), "targets": list(self.targets)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Scope:
        """Return the scope that `to_json` wrote."""
        return cls(tuple(value["nodes"]), tuple(value["targets"]))


EVERYTHING = Scope()


def chosen(context: Context, *, limit: Sequence[str], targets: Sequence[str], kinds: Iterable[str]) -> Scope:
    """Return the scope of the options of `sovctl plan`.

    Args:
        limit: names of nodes or patterns such as `dgx-*`, also separated by commas.
        targets: see `Scope`.
        kinds: names of all resource types.

    Raises:
        InputError: a pattern matches no node or resource type, or separates the nodes of a replica.
    """
    names = [node.name for _, node in context.spec.nodes()]
    patterns = [part for each in limit for part in each.split(",") if part]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            near = nearest(pattern, names)
            hint = f"did you mean `{near}`?" if near else "see node_groups in site.yaml"
            raise InputError(f"no node matches `{pattern}`", where="--limit", hint=hint)
    known = list(kinds)
    for target in targets:
        kind = target.partition("/")[0]
        if not any(fnmatchcase(each, kind) for each in known):
            raise InputError(f"no resource type matches `{kind}`", where="--target", hint=f"known: {', '.join(known)}")
    nodes = tuple(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))
    if nodes and (missing := [name for name in with_replicas(context, nodes) if name not in nodes]):
        raise InputError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} ranks of the same replicas",
            where="--limit",
            hint="ranks of a replica restart together: add these nodes",
        )
    return Scope(nodes, tuple(targets))


def with_replicas(context: Context, nodes: Iterable[str]) -> dict[str, str]:
    """Return these nodes and all that share a replica with them, directly or through other nodes.

    Returns:
        The shared replica's pool by node; empty text for a node of `nodes`.
    """
    found = dict.fromkeys(nodes, "")
    rest = list(found)
    while rest:
        node = context.nodes.get(rest.pop())
        if node is None:
            continue  # removed by this apply
        for replica in context.replicas_on(node):
            for rank in replica.ranks:
                if rank.node not in found:
                    found[rank.node] = replica.pool
                    rest.append(rank.node)
    return found
