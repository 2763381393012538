"""Example sites with what they name on the controller, and every planned change of theirs as role variables."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mirror_site import add_snapshot
from planned_nodes import empty, with_file
from strategies import EXAMPLES

from sovctl.engine.apply.ansible import RoleVariables
from sovctl.engine.apply.roles import roles_for
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.facts.running import REBOOT_REQUIRED
from sovctl.engine.plan.build import changes
from sovctl.engine.site.site import Site
from sovctl.engine.validation.load import references

MakeSite = Callable[[str], Site]
CABLING = "device,port,peer,peer_port\nleaf1,1,n1 mlx5_0,1\n"


def example(preset: str, folder: Path) -> Site:
    """An example in a folder of its own, with invented secrets."""
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / preset / "site.yaml", folder)
    return with_invented_files(folder)


def with_invented_files(folder: Path) -> Site:
    """The site of a folder; every file that it names is invented, and so is the snapshot of its mirror."""
    site = Site.open(folder / "site.yaml", touches_nodes=False)
    for reference in references(site.spec):
        path = folder / (reference.file or "")
        path.parent.mkdir(exist_ok=True)
        is_cabling = path.suffix == ".csv"
        path.write_text(CABLING if is_cabling else f"invented-{secrets.token_hex(16)}\n")
        path.chmod(0o600)
    if site.spec.mirror is not None:
        add_snapshot(folder / site.spec.mirror.store, "invented-1", {"wheels/index.html": b"invented"})
    return site


def cluttered(node: str) -> NodeFacts:
    """A node with nothing that is wanted, with a pool, a gateway and a secret that are not, and a pending reboot."""
    facts = empty(node)
    facts = replace(facts, texts={**facts.texts, REBOOT_REQUIRED: ""})
    for path in (
        "/etc/sovctl/pools/former.yaml",
        "/etc/systemd/system/sovctl-probe-former.timer",
        "/etc/systemd/system/sovctl-pool-former.service",
        "/etc/sovctl/secrets/cloud-former.key",
        "/etc/sovctl/gateway.yaml",
        "/etc/systemd/system/sovctl-gateway.service",
    ):
        facts = with_file(facts, path)
    return facts


def all_roles(site: Site) -> dict[str, dict[str, RoleVariables]]:
    """Role variables by node for a first apply on cluttered nodes."""
    site.credentials.ensure(site.context())
    context = site.context()
    facts = {node.name: cluttered(node.name) for _, node in site.spec.nodes()}
    ids = {change.id for change in changes(context, facts)}
    return {name: dict(roles_for(site, context, name, ids, each, "/w/sovctl.whl")) for name, each in facts.items()}
