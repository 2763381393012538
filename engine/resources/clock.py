"""Clock: chrony with the site's NTP servers. Audit records rely on its time."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context, render
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType
from .services.daemon import PACKAGE_LIST, runs_what_is_written

FILE = "/etc/chrony/chrony.conf"
INPUTS = (FILE, PACKAGE_LIST.format(package="chrony"))


def _expect(context: Context, _node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    servers = list(context.spec.clock.servers)
    yield Desired(
        kind="clock",
        name="chrony",
        state={
            "file_sha256": sha256_hex(render("clock", "chrony.conf.j2", servers=servers)),
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
        },
        why=f"time from {', '.join(servers)} only",
        variables={"servers": servers},
        risk=Risk.SERVICE,
    )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    unit = facts.units.get("chrony")
    if unit is None:
        return None
    return {
        "file_sha256": facts.sha256(FILE),
        **unit.state,
        "runs_what_is_written": runs_what_is_written(facts, "chrony", INPUTS),
    }


RESOURCE_TYPE = ResourceType("clock", _expect, _observe, lambda _context, _node: Query(hash=INPUTS, units=("chrony",)))
