"""Kernel settings and process limits of the platform."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context, render
from .resource import Desired, State
from .resource_type import Query, ResourceType

SYSCTL_FILE = "/etc/sysctl.d/90-sovctl.conf"
LIMITS_FILE = "/etc/security/limits.d/90-sovctl.conf"


def _settings(context: Context, node: Node, facts: NodeFacts | None) -> dict[str, str]:
    """Return settings by key; in a container, which shares the kernel, only those of its network namespace."""
    is_container = facts is not None and facts.is_container
    return {
        each.key: each.value for each in context.platform(node).sysctls if each.scope == "network" or not is_container
    }


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    settings = _settings(context, node, facts)
    limits = [f"{each.domain} {each.kind} {each.item} {each.value}" for each in context.platform(node).limits]
    omitted = len(context.platform(node).sysctls) - len(settings)
    also = ", and swap, mounts" + (
        ", boot options, modules, governor, PCI settings" if context.platform(node).has_gpus else ""
    )
    is_container = facts is not None and facts.is_container
    yield Desired(
        kind="tuning",
        name="kernel",
        state={
            "file_sha256": sha256_hex(render("tuning", "90-sovctl.conf.j2", settings=settings)),
            **settings,
        },
        why=f"platform {context.platform(node).id}"
        + (f"; {omitted} kernel-wide settings omitted in a container" if omitted else "")
        + (also if is_container else ""),
        variables={"settings": settings, "limits": limits},
    )
    yield Desired(
        kind="tuning",
        name="limits",
        state={"file_sha256": sha256_hex(render("tuning", "limits.conf.j2", limits=limits))},
        why="pinned memory for RDMA, and many open connections",
        variables={"settings": settings, "limits": limits},
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    path = SYSCTL_FILE if desired.name == "kernel" else LIMITS_FILE
    found = facts.sha256(path)
    if found is None:
        return None
    keys = [key for key in desired.state or () if key != "file_sha256"]
    return {"file_sha256": found, **{key: facts.sysctls.get(key) for key in keys}}


RESOURCE_TYPE = ResourceType(
    "tuning",
    _expect,
    _observe,
    lambda context, node: Query(
        hash=(SYSCTL_FILE, LIMITS_FILE), sysctls=tuple(each.key for each in context.platform(node).sysctls)
    ),
)
