"""Dynamic inventory of a site: the variables of all roles for its desired state, for Ansible without `sovctl apply`.

- Pure: the caller passes the site description and the facts. Secrets are paths of files on the controller.
- The result has the format of inventory scripts:
  https://docs.ansible.com/ansible/latest/dev_guide/developing_inventory.html#developing-inventory-scripts (2026-11-27).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..facts.node import NodeFacts
from ..resources.context import Context
from ..site.site import Site
from . import ansible
from .roles import roles_for

UNSAFE = "__ansible_unsafe"
"""Key of a text that Ansible does not evaluate as a template (ansible-core 2.19, `_internal/_json/_profiles`)."""


def desired_inventory(site: Site, context: Context, facts: Mapping[str, NodeFacts], *, wheel: Path) -> dict[str, Any]:
    """Return the output of `--list`.

    Args:
        facts: by node name. Without facts of a node, its orphans are unknown and it counts as a physical machine.
        wheel: path of the sovctl wheel on the controller.
    """
    names = [node.name for _, node in site.spec.nodes()]
    roles = {name: roles_for(site, context, name, None, facts.get(name), str(wheel)) for name in names}
    everything = ansible.inventory(site.spec, site.folder, roles)["all"]
    return {
        "_meta": {"hostvars": _marked(everything["hosts"])},
        "all": {"hosts": names, "vars": _marked({**everything["vars"], "sovctl_planned": False})},
        **{name: {"hosts": hosts} for name, hosts in groups(site, context).items()},
    }


def groups(site: Site, context: Context) -> dict[str, list[str]]:
    """Return node names by Ansible group: `node_group_*`, `pool_*` and `gateway`, with `_` for `-` in names."""
    found = {f"node_group_{group.name}": [node.name for node in group.nodes] for group in site.spec.node_groups}
    for pool in site.spec.pools:
        ranks = (rank for replica in context.replicas if replica.pool == pool.name for rank in replica.ranks)
        found[f"pool_{pool.name}"] = list(dict.fromkeys(rank.node for rank in ranks))
    if site.spec.gateway:
        found["gateway"] = list(site.spec.gateway.nodes)
    return {name.replace("-", "_"): hosts for name, hosts in found.items()}


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _marked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_marked(each) for each in value]
    return {UNSAFE: value} if isinstance(value, str) and "{" in value else value
