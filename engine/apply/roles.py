"""Variables of Ansible roles for planned changes."""

from __future__ import annotations

from typing import Any

from ..facts.node import NodeFacts
from ..plan.build import desired_on, types_of
from ..resources.context import Context
from ..resources.mirror.urls import CA_FILE
from ..site.site import Site
from . import ansible

PLANNED_ONLY = frozenset({"attributes", "reboot", "superseded_environment", "unit"})
"""Resource types whose roles act on findings of fresh facts. They run only if a plan contains them."""


def roles_for(
    site: Site, context: Context, name: str, ids: set[str] | None, facts: NodeFacts | None, wheel: str
) -> dict[str, ansible.RoleVariables]:
    """Return the variables of each role for the planned changes of one node, in the order of RESOURCE_TYPES.

    Items contain paths of files on the controller, so that an inventory has no secrets.

    Args:
        name: of the node.
        ids: of the changes to apply; others are omitted. None: all resources of the node, without PLANNED_ONLY.
        facts: None if the node was never observed; its orphans are unknown then.
        wheel: path of the sovctl wheel, for environments that need it.
    """
    node = context.nodes[name]
    roles: dict[str, dict[str, list[dict[str, Any]]]] = {}
    reboots = any(id_.startswith(f"{name}/reboot/") for id_ in ids or ())
    for desired in desired_on(context, node, facts):
        if desired.kind in PLANNED_ONLY if ids is None else f"{name}/{desired.kind}/{desired.name}" not in ids:
            continue
        item = {"name": desired.name, **desired.variables}
        if desired.state is None:
            roles.setdefault(desired.kind, {}).setdefault(f"{desired.kind}_orphans", []).append(item)
            continue
        if desired.kind == "credential":
            item["source"] = str(site.credentials.file(node, desired.name).resolve())
        if desired.kind == "repository":
            item["key_file"] = str((site.folder / desired.variables["key_file"]).resolve())
            item["ca_source"] = str(site.credentials.file(node, CA_FILE).resolve()) if item["ca_file"] else ""
        if desired.kind == "service":
            item["start"] = not reboots
        if desired.kind == "environment":
            item["code"] = wheel if item.pop("needs_code") else ""
        roles.setdefault(desired.kind, {}).setdefault(f"{desired.kind}_items", []).append(item)
    return {kind.name: roles[kind.name] for kind in types_of(context, node) if kind.name in roles}
