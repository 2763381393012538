"""Agent and proxy of a swap group on a node: `roles/swap_group`. The role `pool` removes orphans of them.

The agent gives the pools their turns on the GPUs. The proxy, nginx of the distribution, requires client
certificates, and passes the served routes to the Unix sockets of the servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_text

from ..facts.node import NodeFacts
from ..spec import Node
from .context import ROLES, Context, render
from .credential import CERTIFICATES
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType
from .services.daemon import started_after
from .serving.node_files import UNITS, joint_sha256
from .serving.swap import PROGRAMS, SwapSet, agent_settings, proxy_settings, sets_on

KIND = "swap_group"
TEMPLATES = ("swap.json.j2", "proxy.conf.j2", "swap.service.j2", "proxy.service.j2")


def files(each: SwapSet) -> tuple[str, ...]:
    """Return the paths on a node of a set's settings and units, in the order of `TEMPLATES`."""
    return (each.config, each.proxy_config, f"{UNITS}/{each.agent}.service", f"{UNITS}/{each.proxy}.service")


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    for each in sets_on(context, node):
        settings = agent_settings(context, each)
        variables = {
            "agent": each.agent,
            "proxy": each.proxy,
            "config": each.config,
            "proxy_config": each.proxy_config,
            "settings": settings,
            "proxy_settings": proxy_settings(context, each),
            "start_timeout_s": sum(engine["start_timeout_s"] for engine in settings["engines"]),
        }
        item = {"name": each.name, **variables}
        texts = [render(KIND, template, item=item, proxy=variables["proxy_settings"]) for template in TEMPLATES]
        texts += [package_text(ROLES / KIND / "files" / path.rpartition("/")[2]) for path in PROGRAMS]
        yield Desired(
            kind=KIND,
            name=each.name,
            state={
                "files_sha256": joint_sha256(sha256_hex(text) for text in texts),
                "active": "active",
                "enabled": "enabled",
                "runs_what_is_written": True,
            },
            why=f"{', '.join(replica.pool for replica in each.replicas)} share {len(each.replicas[0].ranks[0].gpus)} "
            "GPUs in turns",
            variables=variables,
            risk=Risk.WORKLOAD,
            minutes=round(sum(engine["start_timeout_s"] for engine in settings["engines"]) / 120, 1),
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    values = desired.variables
    paths = [values["config"], values["proxy_config"]]
    paths += [f"{UNITS}/{values[part]}.service" for part in ("agent", "proxy")]
    if all(facts.sha256(path) is None for path in paths):
        return None
    loaded = {"agent": [paths[0], paths[2], *PROGRAMS], "proxy": [paths[1], paths[3], *_CERTIFICATES]}
    units = {part: facts.units.get(values[part]) for part in loaded}
    active = {unit.active if unit else None for unit in units.values()}
    enabled = {unit.enabled if unit else None for unit in units.values()}
    return {
        "files_sha256": joint_sha256(facts.sha256(path) for path in (*paths, *PROGRAMS)),
        "active": _common(active),
        "enabled": _common(enabled),
        "runs_what_is_written": all(started_after(facts, units[part], loaded[part]) for part in loaded),
    }


def _common(values: set[str | None]) -> str | None:
    """Return the value of both units; if they differ, both of them."""
    return values.pop() if len(values) == 1 else ", ".join(sorted(map(str, values)))


_CERTIFICATES = tuple(each.path for each in CERTIFICATES)


def _query(context: Context, node: Node) -> Query:
    sets = sets_on(context, node)
    return Query(
        hash=tuple(path for each in sets for path in files(each)) + (PROGRAMS if sets else ()),
        units=tuple(unit for each in sets for unit in (each.agent, each.proxy)),
    )


RESOURCE_TYPE = ResourceType(KIND, _expect, _observe, _query)
