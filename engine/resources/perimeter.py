"""Firewall of every node: drops by default in both directions; site.yaml determines each rule.

The observed state is the live ruleset of the kernel, so that a plan also shows changes that are not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..placement import Replica
from ..spec import Node
from ..spec.perimeter import Flow
from ..spec.service_accounts import ENGINE_UID, GATEWAY_UID, MONITORING_UID, RETRIEVAL_UID
from .context import Context, render
from .host import imex
from .monitoring.places import DCGM_EXPORTER_PORT, NODE_EXPORTER_PORT
from .monitoring.scrape import scrape_port
from .monitoring.services import has_gpus
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType
from .serving.kv_transfer import peers_of, side_channel_port
from .serving.rank_ports import ASSIGNED_PORTS, ports_of

FILE = "/etc/nftables.conf"
ROOT_UID = 0
NEIGHBOURS = "ip6 hoplimit 255 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"
"""Neighbour discovery, which IPv6 needs before a packet can be sent (RFC 4861, 7.1). It precedes the rules of flows."""


@dataclass(frozen=True)
class Rules:
    """nft rules of one node, in the format of `nft list`."""

    inbound: tuple[str, ...]
    outbound: tuple[str, ...]


def rules_for(context: Context, node: Node) -> Rules:
    """Return the rules of a node for both directions."""
    inbound, outbound = [], []
    for network in context.spec.perimeter.management:
        address = _network(network)
        inbound.append(f"ip saddr {address} tcp dport {context.spec.access.port} accept")
        # For replies of ssh sessions that are older than the firewall, which conntrack does not know as established.
        outbound.append(f"ip daddr {address} tcp sport {context.spec.access.port} accept")
    inbound += _mirror_inbound(context, node)
    for host, port in sorted(_artifact_hosts(context, node)):
        outbound.append(f"ip daddr {host} tcp dport {port} accept")
    outbound += [f"ip daddr {server} udp dport 123 accept" for server in context.spec.clock.servers]
    outbound += _host_outbound(context)
    inbound += _pool_inbound(context, node)
    outbound += _pool_outbound(context, node)
    inbound += _scraper_inbound(context, node)
    outbound += _scraper_outbound(context, node)
    for address in sorted(set(imex.domain_of(context, node)) - {str(node.address)}):
        inbound.append(f"ip saddr {address} tcp dport {imex.PORT} accept")
        outbound.append(f"ip daddr {address} tcp dport {imex.PORT} accept")
    flows = [flow for flow in context.spec.perimeter.flows if _has_flow(context, node, flow)]
    if any(network.version == 6 for flow in flows for network in flow.addresses):
        inbound.append(NEIGHBOURS)
        outbound.append(NEIGHBOURS)
    for flow in flows:
        (inbound if flow.is_inbound else outbound).extend(_flow_rules(flow))
    inbound += _retrieval_inbound(context, node)
    outbound += _retrieval_outbound(context, node)
    if context.is_gateway(node):
        inbound += _gateway_inbound(context)
        outbound += _gateway_outbound(context)
    return Rules(tuple(dict.fromkeys(inbound)), tuple(dict.fromkeys(outbound)))


def _host_outbound(context: Context) -> Iterator[str]:
    dns, logs = context.spec.host.dns, context.spec.host.logs
    for server in dns.servers if dns else ():
        yield from (f"ip daddr {server} {protocol} dport 53 accept" for protocol in ("udp", "tcp"))
    if logs is not None:
        yield f"ip daddr {logs.address} tcp dport {logs.port} accept"


def _has_flow(context: Context, node: Node, flow: Flow) -> bool:
    return not flow.node_groups or context.group(node).name in flow.node_groups


def _flow_rules(flow: Flow) -> Iterator[str]:
    side = "saddr" if flow.is_inbound else "daddr"
    for network in flow.addresses:
        family = "ip6" if network.version == 6 else "ip"
        for protocol in flow.used_protocols():
            for port in flow.used_ports():
                yield f"{family} {side} {_network(network)} {protocol} dport {port} accept"


def _gateway_inbound(context: Context) -> Iterator[str]:
    for network in context.spec.perimeter.clients:
        yield f"ip saddr {_network(network)} tcp dport {context.gateway.port} accept"
    admin = context.gateway.admin
    if admin is not None and admin.reach == "management":
        for network in context.spec.perimeter.management:
            yield f"ip saddr {_network(network)} tcp dport {admin.port} accept"


def _gateway_outbound(context: Context) -> Iterator[str]:
    for replica in context.replicas:
        for name in replica.endpoints:
            address = context.spec.node(name).address
            yield f"ip daddr {address} tcp dport {replica.port} meta skuid {GATEWAY_UID} accept"
    for provider in context.gateway.identity_providers:
        if (url := provider.jwks_url) is not None:
            yield f"ip daddr {url.host} tcp dport {url.port} meta skuid {GATEWAY_UID} accept"
    if (handoff := context.gateway.handoff) is not None and (webhook := handoff.webhook) is not None:
        yield f"ip daddr {webhook.url.host} tcp dport {webhook.url.port} meta skuid {GATEWAY_UID} accept"
    if (tracing := context.gateway.tracing) is not None:
        yield f"ip daddr {tracing.endpoint.host} tcp dport {tracing.endpoint.port} meta skuid {GATEWAY_UID} accept"
    if (database := context.gateway.vault.postgresql) is not None:
        yield f"ip daddr {database.host} tcp dport {database.port} meta skuid {GATEWAY_UID} accept"
    for exception in context.spec.perimeter.exceptions:
        # The kernel ends the exception without another apply. nft reads and prints the time in the node's time zone.
        until = f'meta time <= "{exception.expires} 23:59:59"'
        yield f"ip daddr {exception.address} tcp dport {exception.port} meta skuid {GATEWAY_UID} {until} accept"


def _pool_inbound(context: Context, node: Node) -> Iterator[str]:
    for replica in context.replicas_on(node):
        if node.name in replica.endpoints:
            for gateway in context.gateway_nodes:
                yield f"ip saddr {gateway.address} tcp dport {replica.port} accept"
        for address, port, _ in _rank_connections(context, replica, node):
            yield f"ip saddr {address} tcp dport {port} accept"
        for peer in _transfer_peers(context, replica):
            for port in (side_channel_port(context, replica), ASSIGNED_PORTS):
                yield f"ip saddr {context.spec.node(peer.head).address} tcp dport {port} accept"
    yield from (f"ip saddr {address} accept" for address in _tested_nodes(context, node))


def _pool_outbound(context: Context, node: Node) -> Iterator[str]:
    for replica in context.replicas_on(node):
        for address, port, uid in _rank_connections(context, replica, node):
            yield f"ip daddr {address} tcp dport {port} meta skuid {uid} accept"
        for peer in _transfer_peers(context, replica):
            for port in (side_channel_port(context, peer), ASSIGNED_PORTS):
                address = context.spec.node(peer.head).address
                yield f"ip daddr {address} tcp dport {port} meta skuid {ENGINE_UID} accept"
    yield from (f"ip daddr {address} accept" for address in _tested_nodes(context, node))


def _rank_connections(context: Context, replica: Replica, node: Node) -> Iterator[tuple[IPv4Address, int | str, int]]:
    """Yield the address of each other rank of a replica, a port that the ranks use, and the user that connects."""
    for address in sorted(context.spec.node(rank.node).address for rank in replica.ranks if rank.node != node.name):
        ports = ports_of(context, replica)
        yield address, ports.agent, ROOT_UID
        yield address, ports.engine, ENGINE_UID
        yield address, ASSIGNED_PORTS, ENGINE_UID


def _transfer_peers(context: Context, replica: Replica) -> list[Replica]:
    """Return the servers on other nodes with which a server transfers KV caches, sorted by address of their nodes.

    UCX chooses ports of the kernel for its connections; RDMA does not pass the firewall.
    """
    peers = [each for each in peers_of(context, replica) if each.head != replica.head]
    return sorted(peers, key=lambda each: (context.spec.node(each.head).address, each.index))


def _tested_nodes(context: Context, node: Node) -> list[IPv4Address]:
    """Return the addresses of nodes that tests of the fabric connect with the node."""
    fabric, nics = context.spec.fabric, context.platform(node).checks.compute_nics
    if fabric is None or not fabric.node_connections or nics is None or not nics.applies:
        return []
    return sorted(each.address for each in context.group(node).nodes if each.name != node.name)


def _mirror_inbound(context: Context, node: Node) -> Iterator[str]:
    if context.spec.mirror is not None and context.is_mirror(node):
        for _, each in context.spec.nodes():
            if each != node:
                yield f"ip saddr {each.address} tcp dport {context.spec.mirror.port} accept"


def _scraper_inbound(context: Context, node: Node) -> Iterator[str]:
    server = context.monitoring_server
    if server is None or context.is_monitoring_server(node):
        return
    address = context.spec.node(server.node).address
    for port in _scraped_ports(context, node):
        yield f"ip saddr {address} tcp dport {port} accept"


def _scraper_outbound(context: Context, node: Node) -> Iterator[str]:
    server = context.monitoring_server
    if server is None or not context.is_monitoring_server(node):
        return
    for _, each in context.spec.nodes():
        if each != node:
            for port in _scraped_ports(context, each):
                yield f"ip daddr {each.address} tcp dport {port} meta skuid {MONITORING_UID} accept"
    for receiver in server.receivers:
        if (endpoint := receiver.endpoint) is not None and endpoint[0] != str(node.address):
            yield f"ip daddr {endpoint[0]} tcp dport {endpoint[1]} meta skuid {MONITORING_UID} accept"


def _scraped_ports(context: Context, node: Node) -> list[int]:
    """Return the TCP ports of a node from which Prometheus reads metrics."""
    ports = [NODE_EXPORTER_PORT, *([DCGM_EXPORTER_PORT] if has_gpus(context, node) else [])]
    ports += [each.port for each in context.replicas_on(node) if each.head == node.name]
    ports += [context.retrieval.port] if context.is_retrieval(node) else []
    return [*ports, scrape_port(context.spec)] if context.is_gateway(node) else ports


def _retrieval_inbound(context: Context, node: Node) -> Iterator[str]:
    retrieval = context.spec.retrieval
    if retrieval is None:
        return
    if context.is_retrieval(node):
        callers = [str(each.address) for each in context.gateway_nodes if each != node]
        callers += [_network(each) for each in retrieval.administrators or context.spec.perimeter.management]
        for address in callers:
            yield f"ip saddr {address} tcp dport {retrieval.port} accept"
        return
    for replica in _searched_replicas(context):
        if node.name in replica.endpoints:
            yield f"ip saddr {context.spec.node(retrieval.node).address} tcp dport {replica.port} accept"


def _retrieval_outbound(context: Context, node: Node) -> Iterator[str]:
    retrieval = context.spec.retrieval
    if retrieval is None:
        return
    if context.is_gateway(node) and not context.is_retrieval(node):
        address = context.spec.node(retrieval.node).address
        yield f"ip daddr {address} tcp dport {retrieval.port} meta skuid {GATEWAY_UID} accept"
    if context.is_retrieval(node):
        for replica in _searched_replicas(context):
            for name in replica.endpoints:
                address = context.spec.node(name).address
                yield f"ip daddr {address} tcp dport {replica.port} meta skuid {RETRIEVAL_UID} accept"


def _searched_replicas(context: Context) -> list[Replica]:
    """Return the replicas of the embedding and the rerank pool."""
    pools = (context.retrieval.embedding_pool, context.retrieval.rerank_pool)
    return [each for each in context.replicas if each.pool in pools]


def _artifact_hosts(context: Context, node: Node) -> set[tuple[str, int]]:
    if (mirror := context.spec.mirror) is not None:
        return {(str(context.spec.node(name).address), mirror.port) for name in mirror.nodes if name != node.name}
    urls = (context.spec.artifacts.apt_url, context.spec.artifacts.wheels_url, context.spec.artifacts.models_url)
    parts = [urlsplit(str(url)) for url in urls]
    return {(part.hostname or "", part.port or (443 if part.scheme == "https" else 80)) for part in parts}


def _network(network: object) -> str:
    """Return a network in the format of `nft list`, which omits the prefix of a single address."""
    return str(network).removesuffix("/32" if "." in str(network) else "/128")


def listing(text: str) -> list[str]:
    """Return the table `inet sovctl` of a file or a listing as stripped lines without comments."""
    lines, depth = [], 0
    for raw in text.splitlines():
        line = raw.strip()
        if depth == 0 and not line.startswith("table inet sovctl {"):
            continue
        if line and not line.startswith("#"):
            lines.append(line)
        depth += line.count("{") - line.count("}")
    return lines


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    rules = rules_for(context, node)
    text = render("perimeter", "nftables.conf.j2", inbound=rules.inbound, outbound=rules.outbound)
    count = len(context.spec.perimeter.exceptions) if context.is_gateway(node) else 0
    flows = sum(_has_flow(context, node, flow) for flow in context.spec.perimeter.flows)
    yield Desired(
        kind="perimeter",
        name="firewall",
        state={
            "rules": listing(text),
            "other_tables": [],
            "file_sha256": sha256_hex(text),
            "enabled": "enabled",
        },
        why=f"drop by default in both directions; {count} exception{'s' if count != 1 else ''}, "
        f"{flows} flow{'s' if flows != 1 else ''} on this node",
        variables={
            "inbound": list(rules.inbound),
            "outbound": list(rules.outbound),
            "confirm_timeout_s": context.spec.perimeter.confirm_timeout_s,
        },
        risk=Risk.CONNECTION,
    )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    if facts.ruleset is None:
        return None
    tables = [line.split(" {")[0] for line in facts.ruleset if line.startswith("table ")]
    if "table inet sovctl" not in tables and facts.sha256(FILE) is None:
        return None
    unit = facts.units.get("nftables")
    return {
        "rules": listing("\n".join(facts.ruleset)),
        "other_tables": [table for table in tables if table != "table inet sovctl"],
        "file_sha256": facts.sha256(FILE),
        "enabled": unit.enabled if unit else None,
    }


RESOURCE_TYPE = ResourceType(
    "perimeter", _expect, _observe, lambda _context, _node: Query(hash=(FILE,), units=("nftables",))
)
