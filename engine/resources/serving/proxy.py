"""TLS proxy before a server whose engine cannot require client certificates: nginx of the engine's environment.

It accepts connections from gateways and from the node itself, by the names in their certificates, and passes /v1,
/health and /metrics to the server's Unix socket. It closes other connections, and answers 404 for other paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.canonical_json import sha256_hex

from ...catalog.engines import EngineCapability
from ...facts.node import NodeFacts
from ...placement import Replica
from ...spec import Node
from ..context import Context, render
from ..credential import CERTIFICATES
from ..resource import State
from ..services.daemon import started_after
from .names import instance, unit_name
from .node_files import FOLDER, UNITS, joint_sha256

PROXY_TEMPLATES = ("nginx.conf.j2", "proxy.service.j2")
LOOPBACK_ADDRESS, LOOPBACK_OFFSET = "127.0.0.1", 20_000
"""Address of servers without a Unix socket, and the distance of their ports from those of their proxies."""


def needs_proxy(context: Context) -> bool:
    """Return whether the servers of a site have a proxy."""
    return EngineCapability.MTLS not in context.engine.capabilities


def proxy_unit(name: str) -> str:
    """Return the systemd unit of a replica's proxy, without `.service`, by the replica's `instance` name."""
    return f"sovctl-proxy-{name}"


def listening_unit(context: Context, replica: Replica) -> str:
    """Return the systemd unit that accepts connections of clients, without `.service`."""
    return proxy_unit(instance(replica)) if needs_proxy(context) else unit_name(replica)


def proxy_files(name: str) -> tuple[str, ...]:
    """Return the paths on a node of a proxy's settings and unit (order of `PROXY_TEMPLATES`)."""
    return f"{FOLDER}/{name}.nginx.conf", f"{UNITS}/{proxy_unit(name)}.service"


def loopback_port(replica: Replica) -> int:
    """Return the port of a server that cannot listen on a Unix socket, on the loopback address of its node."""
    return replica.port + LOOPBACK_OFFSET


def engine_socket(replica: Replica) -> str:
    """Return the path of the Unix socket of a server with a proxy."""
    return f"/run/{unit_name(replica)}/engine.sock"


def proxy_of(context: Context, node: Node, replica: Replica) -> dict[str, Any]:
    """Return the settings of the proxy of a replica; empty if its engine requires client certificates itself."""
    if not needs_proxy(context):
        return {}
    return {
        "address": str(node.address),
        "port": replica.port,
        "server": (
            f"unix:{engine_socket(replica)}"
            if context.engine.has_unix_socket
            else f"{LOOPBACK_ADDRESS}:{loopback_port(replica)}"
        ),
        "metrics_path": context.engine.metrics_path,
        "command": [word.format(root=context.engine.root) for word in context.engine.proxy_command],
        "permitted": sorted({node.name, *(each.name for each in context.gateway_nodes)}),
    }


def expected_proxy(item: Mapping[str, Any]) -> State:
    """Return the expected state of a proxy.

    Args:
        item: name and variables of the pool's resource.
    """
    return {
        "proxy_sha256": joint_sha256(sha256_hex(render("pool", each, item=item)) for each in PROXY_TEMPLATES),
        "proxy": "active",
        "proxy_at_boot": "enabled",
        "proxy_runs_what_is_written": True,
    }


def observed_proxy(facts: NodeFacts, name: str, stamp: str) -> State:
    """Return the observed state of a proxy, in the form of `expected_proxy`.

    Args:
        stamp: path of the stamp of the engine's environment.
    """
    unit, files = facts.units.get(proxy_unit(name)), proxy_files(name)
    return {
        "proxy_sha256": joint_sha256(facts.sha256(path) for path in files),
        "proxy": unit.active if unit else None,
        "proxy_at_boot": unit.enabled if unit else None,
        "proxy_runs_what_is_written": started_after(
            facts, unit, [*files, stamp, *(each.path for each in CERTIFICATES)]
        ),
    }
