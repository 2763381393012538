"""Packages of a node: driver software held at the versions of the lock; system packages at the version of the mirror.

Names and versions come from the row of the node's operating system in `catalog/operating_systems.yaml`. On DGX OS,
NVIDIA's packages are not resources: `plan/support.py` compares them with the lock, and sovctl never replaces them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog.operating_systems import (
    Apply,
    Package,
    SupportedSystem,
    Tasks,
    load_operating_systems,
    supported,
)
from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..host import audit, log_forwarding
from ..mirror import server
from ..monitoring import services as monitoring
from ..resource import Desired, Risk, State, difference
from ..resource_type import Query, ResourceType
from ..retrieval.places import PACKAGES as RETRIEVAL
from ..serving.swap import sets_on
from . import dependencies, repository

RISKS = {"node": Risk.WORKLOAD, "pools": Risk.WORKLOAD, "own": Risk.SERVICE, None: Risk.NONE}
"""Risk of a new version, by `Component.restarts`."""


def packages_on(context: Context, node: Node, facts: NodeFacts) -> tuple[SupportedSystem | None, tuple[Package, ...]]:
    """Return the row of a node's operating system and the packages that it needs; none on an unsupported system."""
    row = supported(facts.system)
    if row is None:
        return None, ()
    has_own_kernel = not facts.is_container and not facts.simulated
    values = (row.id, context.group(node).platform, facts.system.kernel, _tasks(context, node), has_own_kernel)
    return row, context.once(_packages, *values)


def _packages(
    context: Context, system: str, platform: str, kernel: str, tasks: Tasks, has_own_kernel: bool
) -> tuple[Package, ...]:
    return load_operating_systems()[system].packages_for(
        context.platforms[platform], context.lock, kernel=kernel, tasks=tasks, has_own_kernel=has_own_kernel
    )


def _tasks(context: Context, node: Node) -> Tasks:
    return Tasks(
        runs_python=bool(context.replicas_on(node)) or context.is_gateway(node) or context.is_retrieval(node),
        is_monitored=context.monitoring_server is not None,
    )


def managed(context: Context, node: Node, facts: NodeFacts) -> tuple[Package, ...]:
    """Return the packages that sovctl installs on a node: without NVIDIA's packages on DGX OS."""
    row, packages = packages_on(context, node, facts)
    if row is not None and row.apply is Apply.ASSERTED:
        return tuple(each for each in packages if not each.component.is_of_vendor)
    return packages


def needed(context: Context, node: Node, facts: NodeFacts) -> list[Desired]:
    """Return the packages that sovctl installs on a node, without their dependencies; none on an unsupported system.

    `variables["spec"]` is the argument of the package manager.
    """
    row, _ = packages_on(context, node, facts)
    if row is None:
        return []
    found = [_desired(context, package) for package in managed(context, node, facts)]
    for engine in _engines(context, node):
        found += [_of_mirror(name, f"{engine} loads it") for name in row.engine_packages.get(engine, ())]
    found += [_of_mirror(name, why) for name, why in _host_packages(context, node).items()]
    if not facts.is_container:
        found += [_of_mirror(name, why) for name, why in _kernel_packages(context, row.package_manager).items()]
    return found


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    row = None if facts is None else supported(facts.system)
    if facts is None or row is None:
        return
    found = needed(context, node, facts)
    yield from found
    if row.package_manager == "apt" and any(difference(node.name, each, _observe(facts, each)) for each in found):
        mirror = next(iter(repository.RESOURCE_TYPE.expect(context, node, facts)))
        has_mirror = difference(node.name, mirror, repository.RESOURCE_TYPE.observe(facts, mirror)) is None
        added = dependencies.dependencies(facts, row, {each.name for each in found}, has_mirror=has_mirror)
        if added is not None:
            yield added


def _desired(context: Context, package: Package) -> Desired:
    if package.version is None:
        return _of_mirror(package.name, package.component.title)
    return Desired(
        kind="package",
        name=package.name,
        state={"version": package.version, "is_held": True},
        why=f"lock {context.lock.id}: {package.component.title}, held",
        variables={"version": package.version, "spec": package.spec},
        risk=RISKS[package.component.restarts],
        minutes=1.0,
    )


def _of_mirror(name: str, why: str) -> Desired:
    return Desired(
        kind="package",
        name=name,
        state={"status": "installed"},
        why=why,
        variables={"version": None, "spec": name},
        minutes=0.2,
    )


def _host_packages(context: Context, node: Node) -> dict[str, str]:
    """Return the reasons of packages that operating system resources and the mirror need, by name."""
    found = dict.fromkeys(log_forwarding.packages(context), "sends the system log to the SIEM")
    found |= monitoring.packages(context, node)
    if sets_on(context, node):
        found[server.PACKAGE] = "passes requests to pools of swap groups"
    return found | ({server.PACKAGE: "serves the site's mirror"} if context.is_mirror(node) else {})


def _kernel_packages(context: Context, manager: str) -> dict[str, str]:
    """Return the same, of resources that a container does not have."""
    return {audit.PACKAGES[manager]: "audit log of the kernel"} if context.spec.host.audit else {}


def _engines(context: Context, node: Node) -> list[str]:
    """Return the keys of `engine_packages` whose packages a node needs."""
    engines: list[str] = [context.spec.software.engine] if context.replicas_on(node) else []
    return [*engines, RETRIEVAL] if context.is_retrieval(node) else engines


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if desired.name == dependencies.NAME:
        return dependencies.observed(facts, desired)
    package = facts.packages.get(desired.name)
    if package is None:
        return None
    if "status" in (desired.state or ()):
        return {"status": "installed"}
    return {"version": package.version, "is_held": package.is_held}


def mok_command(key: str) -> str:
    """Return the name of the command that tests whether the firmware trusts a key."""
    return f"mok-key {key}"


def _query(context: Context, node: Node) -> Query:
    keys = sorted({each.mok_key for each in load_operating_systems().values() if each.mok_key})
    host = tuple(_host_packages(context, node))
    values = (context.group(node).platform, _tasks(context, node), tuple(_engines(context, node)), host)
    simulations = context.once(_simulations, *values)
    return Query(commands={**{mok_command(key): ("mokutil", "--test-key", key) for key in keys}, **simulations})


def _simulations(
    context: Context, platform: str, tasks: Tasks, engine: tuple[str, ...], host: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    return dependencies.commands(
        context.platforms[platform],
        context.lock,
        tasks=tasks,
        engine=engine,
        host=list(host),
        host_kernel={manager: list(_kernel_packages(context, manager)) for manager in ("apt", "dnf")},
    )


RESOURCE_TYPE = ResourceType("package", _expect, _observe, _query)
