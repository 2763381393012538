"""Kernel settings and process limits of the platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sovctl.support.canonical_json import sha256_hex

from ..facts.drop_ins import LIMITS_READ, SYSCTL_READ, overridden_limits, sysctl_at_boot
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
    texts = {
        SYSCTL_FILE: render("tuning", "90-sovctl.conf.j2", settings=settings),
        LIMITS_FILE: render("tuning", "limits.conf.j2", limits=limits),
    }
    overridden = {path: _overridden(facts, path, text, settings) for path, text in texts.items()}
    yield Desired(
        kind="tuning",
        name="kernel",
        state={"file_sha256": sha256_hex(texts[SYSCTL_FILE]), "overridden_at_boot": [], **settings},
        why=f"platform {context.platform(node).id}"
        + (f"; {omitted} kernel-wide settings omitted in a container" if omitted else "")
        + (also if is_container else ""),
        variables={"settings": settings, "limits": limits, "overridden_at_boot": overridden[SYSCTL_FILE]},
    )
    yield Desired(
        kind="tuning",
        name="limits",
        state={"file_sha256": sha256_hex(texts[LIMITS_FILE]), "overridden_at_boot": []},
        why="pinned memory for RDMA, and many open connections",
        variables={"settings": settings, "limits": limits, "overridden_at_boot": overridden[LIMITS_FILE]},
    )


def _overridden(facts: NodeFacts | None, path: str, text: str, settings: Mapping[str, str]) -> list[str]:
    """Return the settings of files that the system reads after the file of sovctl, with the path of each file.

    Args:
        path: of the file of sovctl.
        text: its expected content.
    """
    if facts is None:
        return []
    texts = {**facts.texts, path: text}
    if path == LIMITS_FILE:
        return overridden_limits(texts, path)
    at_boot = sysctl_at_boot(texts)
    return [f"{key} = {at_boot[key][0]} ({at_boot[key][1]})" for key in settings if at_boot[key][0] != settings[key]]


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    path = SYSCTL_FILE if desired.name == "kernel" else LIMITS_FILE
    found = facts.sha256(path)
    if found is None:
        return None
    return {
        "file_sha256": found,
        "overridden_at_boot": desired.variables["overridden_at_boot"],
        **({key: facts.sysctls.get(key) for key in desired.variables["settings"]} if desired.name == "kernel" else {}),
    }


RESOURCE_TYPE = ResourceType(
    "tuning",
    _expect,
    _observe,
    lambda context, node: Query(
        hash=(SYSCTL_FILE, LIMITS_FILE),
        read=(*SYSCTL_READ, *LIMITS_READ),
        sysctls=tuple(each.key for each in context.platform(node).sysctls),
    ),
)
