"""Server of a mirror node: nginx of the distribution with a configuration and a unit of sovctl.

TLS with the node's certificate; GET and HEAD only, with ranges; no listing; only nodes of the site; access log to the
system log.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context, render
from ..credential import TLS
from ..orphan import orphan
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..services.daemon import started_after
from . import urls

KIND = "site_mirror"
CONFIG = "/etc/sovctl/mirror.conf"
UNIT = "sovctl-mirror"
UNIT_FILE = f"/etc/systemd/system/{UNIT}.service"
PACKAGE = "nginx"
FILES = tuple(f"{TLS}/node.{suffix}" for suffix in ("pem", "key"))


def values(context: Context, node: Node) -> dict[str, object]:
    """Return the variables of the templates."""
    assert context.spec.mirror is not None
    clients = sorted(str(each.address) for _, each in context.spec.nodes())
    return {"address": str(node.address), "port": context.spec.mirror.port, "root": urls.ROOT, "clients": clients}


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    if not context.is_mirror(node):
        if facts is not None and (files := [path for path in (CONFIG, UNIT_FILE) if path in facts.files]):
            yield orphan(KIND, "server", files, why="site.yaml has no mirror on this node", risk=Risk.SERVICE)
        return
    made = values(context, node)
    yield Desired(
        kind=KIND,
        name="server",
        state={
            "config_sha256": sha256_hex(render(KIND, "mirror.conf.j2", mirror=made)),
            "unit_sha256": sha256_hex(render(KIND, "unit.service.j2")),
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
        },
        why=f"serves packages, wheels and models to {len(context.nodes) - 1} other nodes",
        variables={**made, "url": f"https://{node.address}:{made['port']}"},
        risk=Risk.SERVICE,
        minutes=0.2,
    )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    unit, config = facts.units.get(UNIT), facts.sha256(CONFIG)
    if config is None:
        return None
    return {
        "config_sha256": config,
        "unit_sha256": facts.sha256(UNIT_FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, (CONFIG, UNIT_FILE, *FILES)),
    }


RESOURCE_TYPE = ResourceType(
    KIND, _expect, _observe, lambda _context, _node: Query(hash=(CONFIG, UNIT_FILE, *FILES), units=(UNIT,))
)
