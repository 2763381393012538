"""Resolver: the name servers of site.yaml, for systemd-resolved or in /etc/resolv.conf.

systemd-resolved gets a drop-in, if it runs. The observed servers are those in use: the link of /etc/resolv.conf can
point to its stub, whose servers are in /run/systemd/resolve/resolv.conf (systemd-resolved.service(8)).
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context, render
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

FILE, DROP_IN = "/etc/resolv.conf", "/etc/systemd/resolved.conf.d/90-sovctl.conf"
IN_USE = "/run/systemd/resolve/resolv.conf"
UNIT = "systemd-resolved"


def _is_resolved(facts: NodeFacts | None) -> bool:
    unit = facts.units.get(UNIT) if facts else None
    return unit is not None and unit.active == "active"


def _expect(context: Context, _node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    dns = context.spec.host.dns
    if dns is None:
        return
    servers, is_resolved = [str(server) for server in dns.servers], _is_resolved(facts)
    template = "resolved.conf.j2" if is_resolved else "resolv.conf.j2"
    yield Desired(
        kind="resolver",
        name="dns",
        state={
            "file_sha256": sha256_hex(render("resolver", template, servers=servers, search=dns.search)),
            "servers": servers,
        },
        why="name servers of site.yaml" + (", for systemd-resolved" if is_resolved else ""),
        variables={"servers": servers, "search": list(dns.search), "is_resolved": is_resolved},
    )


def name_servers(text: str) -> list[str]:
    """Return the name servers in a resolv.conf, in the order of use."""
    lines = (line.split() for line in text.splitlines())
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    is_resolved = _is_resolved(facts)
    in_use = facts.texts.get(IN_USE if is_resolved else FILE)
    if in_use is None:
        return None
    return {"file_sha256": facts.sha256(DROP_IN if is_resolved else FILE), "servers": name_servers(in_use)}


def _query(context: Context, _node: Node) -> Query:
    if context.spec.host.dns is None:
        return Query()
    return Query(hash=(FILE, DROP_IN), read=(FILE, IN_USE), units=(UNIT,))


RESOURCE_TYPE = ResourceType("resolver", _expect, _observe, _query)
