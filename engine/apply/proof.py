"""Proof of a wave: the differences that a new observation of its nodes still shows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..facts.node import NodeFacts
from ..plan.build import changes
from ..resources.context import Context
from ..resources.resource import Change


def remaining(context: Context, facts: Mapping[str, NodeFacts], *, nodes: Collection[str]) -> list[Change]:
    """Return the remaining changes of nodes; empty if they match site.yaml.

    Args:
        facts: of all nodes; those of `nodes` from after the change.
    """
    return [change for change in changes(context, facts) if change.node in nodes]
