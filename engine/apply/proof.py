"""Proof of a wave: the differences that a new observation of its nodes still shows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..facts.node import NodeFacts
from ..plan.build import changes
from ..plan.scope import EVERYTHING, Scope
from ..resources.context import Context
from ..resources.resource import Change


def remaining(
    context: Context, facts: Mapping[str, NodeFacts], *, nodes: Collection[str], scope: Scope = EVERYTHING
) -> list[Change]:
    """Return the remaining changes of nodes; empty if they match site.yaml.

    Args:
        scope: of the plan.
        facts: of all nodes of the plan; those of `nodes` from after the change.
    """
    return [change for change in changes(context, facts, scope=scope) if change.node in nodes]
