"""Packages: the driver family exactly as the lock says, held; the system's own from the signed mirror."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.context import Context
from sovctl.engine.plan.kinds.kind import Kind
from sovctl.engine.plan.resource import Desired, Risk, State
from sovctl.engine.spec import Node

SYSTEM_PACKAGES = ("chrony", "nftables")
"""On every node. Their version is whatever the signed mirror holds: the mirror is the lock for the system."""


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    names = [*SYSTEM_PACKAGES]
    if context.replicas_on(node) or context.is_gateway(node):
        names.append("python3-venv")
    for name in names:
        yield Desired(
            kind="package",
            name=name,
            state={"status": "installed"},
            why="needed on every node" if name in SYSTEM_PACKAGES else "Python environments are built with it",
            variables={"version": None},
            minutes=0.2,
        )
    for package in context.lock.packages_for(context.platform(node)):
        yield Desired(
            kind="package",
            name=package.name,
            state={"version": package.version, "is_held": True},
            why=f"lock {context.lock.id}: driver family at one version, held",
            variables={"version": package.version, "spec": f"{package.name}={package.version}"},
            risk=Risk.WORKLOAD,
            minutes=1.0,
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    package = facts.packages.get(desired.name)
    if package is None:
        return None
    if "status" in desired.state:
        return {"status": "installed"}
    return {"version": package.version, "is_held": package.is_held}


KIND = Kind("package", _expect, _observe)
