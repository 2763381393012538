"""A node that site.yaml no longer contains, with everything that sovctl put there."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address

from planned_nodes import answer, empty, planned, with_file
from strategies import context

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.removal.remains import QUERY
from sovctl.engine.spec import Node

PRESET = "closed-perimeter"
GONE = Node(name="old-1", address=IPv4Address("192.0.2.250"))
PATHS = {
    "services": ["/etc/systemd/system/sovctl-pool-chat.service"],
    "secrets": ["/etc/sovctl/tls/node.key", "/etc/sovctl/tls/node.pem"],
    "data": ["/var/lib/sovctl"],
    "environments": ["/opt/sovctl"],
    "models": ["/srv/sovctl", "/srv/sovctl/models/chat"],
    "administrators": ["/etc/ssh/authorized_keys.d/ada", "/etc/sudoers.d/sovctl-ada"],
    "settings": ["/etc/sovctl", "/etc/ssh/sshd_config.d/00-sovctl.conf"],
    "package-sources": ["/etc/apt/sources.list.d/sovctl.sources"],
    "firewall": ["/etc/nftables.conf"],
}


def remains(paths: dict[str, list[str]], **more: list[str]) -> NodeFacts:
    """Facts of the removed node."""
    found = {"paths": paths, "shared": [], "accounts": [], "groups": [], "blocks": [], **more}
    made = empty(GONE.name)
    facts = replace(made, answers={**made.answers, QUERY: answer(json.dumps(found))})
    for path in paths.get("services", ()):
        facts = with_file(facts, path)
    return facts


def site_without_it() -> Context:
    """A site that had one node more."""
    return replace(context(PRESET), removed=(GONE,))


def used() -> NodeFacts:
    """The removed node before its removal."""
    facts = remains(PATHS, accounts=["sovctl-vllm"], groups=["sovctl-vllm", "sovctl"], blocks=["/etc/hosts"])
    return replace(facts, ruleset=("table inet sovctl {", "}"))


def facts_with(removed: NodeFacts | None) -> dict[str, NodeFacts]:
    """Facts of the site's nodes, which need no change, and of the removed node."""
    wanted, _ = planned(PRESET)
    return {**wanted, **({GONE.name: removed} if removed else {})}
