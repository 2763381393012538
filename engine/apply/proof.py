"""Proof of a wave: the differences that a new observation of its nodes still shows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..facts.node import NodeFacts
from ..plan.build import changes
from ..plan.scope import EVERYTHING, Scope, with_replicas
from ..resources.context import Context
from ..resources.resource import Change


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
