"""Proof of a wave: the trees it built, and the differences that a new observation of its nodes still shows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..facts.node import NodeFacts
from ..plan.build import changes
from ..plan.order import RESOURCE_TYPES
from ..plan.scope import EVERYTHING, Scope, with_replicas
from ..resources.context import Context
from ..resources.resource import Change, Verb
from ..resources.software.tree import TreeRecord, tree_id


def remaining(
    context: Context, facts: Mapping[str, NodeFacts], nodes: Collection[str], scope: Scope = EVERYTHING
) -> list[Change]:
    """Return the remaining changes of nodes; empty if they match site.yaml.

    Only these nodes, and those that share a replica with them, are compared.

    Args:
        facts: of all nodes of the plan; those of `nodes` from after the change.
        scope: of the plan.
    """
    compared = {*nodes, *with_replicas(context, nodes)}
    needed = {name: each for name, each in facts.items() if name in compared}
    return [change for change in changes(context, needed, scope=scope) if change.node in nodes]


def built_trees(facts: Mapping[str, NodeFacts], changes: Iterable[Change]) -> dict[tuple[str, str], TreeRecord]:
    """Return the records of the trees that the changes have built, by (node, `tree_id`).

    Args:
        facts: of the changed nodes, from after the change.
        changes: that were applied.
    """
    kinds = {kind.name: kind.built_tree for kind in RESOURCE_TYPES if kind.built_tree is not None}
    built = {}
    for change in changes:
        if change.kind in kinds and change.node in facts and change.verb is not Verb.DELETE:
            tree = kinds[change.kind](facts[change.node], change.name)
            if tree is not None and tree.manifest_sha256 is not None:
                record = TreeRecord(tree.root, tree.manifest_sha256)
                built[change.node, tree_id(change.kind, change.name)] = record
    return built
