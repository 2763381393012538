"""Compares the packages that changed on a node with the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..facts.node import NodeFacts
from ..resources.resource import Change
from ..resources.software import dependencies


def package_changes(before: NodeFacts, after: NodeFacts) -> dict[str, tuple[str | None, str | None]]:
    """Return versions before and after by name, of the packages that differ; None: absent. Sorted by name."""
    versions = {
        name: (_version(before, name), _version(after, name)) for name in sorted({*before.packages, *after.packages})
    }
    return {name: pair for name, pair in versions.items() if pair[0] != pair[1]}


def unplanned(before: NodeFacts, after: NodeFacts, planned: Iterable[Change]) -> list[str]:
    """Return the package changes that a plan does not contain, such as "libc6 2.36 -> 2.37".

    A plan that cannot list the dependencies allows additions and new versions, but no removal.

    Args:
        planned: changes of the node.
    """
    allowed, is_known = set[str](), True
    for change in planned:
        if change.kind != "package":
            continue
        if change.name != dependencies.NAME:
            allowed.add(change.name)
        elif dependencies.LATER in (change.after or {}).values():
            is_known = False
        else:
            allowed |= set(change.after or {})
    return [
        f"{name} {old or '(absent)'} -> {new or '(absent)'}"
        for name, (old, new) in package_changes(before, after).items()
        if name not in allowed and (is_known or new is None)
    ]


def _version(facts: NodeFacts, name: str) -> str | None:
    package = facts.packages.get(name)
    return package.version if package else None
