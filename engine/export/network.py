"""NetworkPolicies: ingress and egress are denied by default, and each permitted connection is named by labels.

| from | to | port |
|---|---|---|
| clients of `perimeter.clients` | gateway | `gateway.port` |
| controllers of `perimeter.management` | gateway | `gateway.admin.port`, if it is reachable there |
| gateway | servers of pools | `pools[].port` |
| gateway | `perimeter.exceptions` | their port |
| Prometheus | servers of pools | `pools[].port` |
| endpoint picker | servers of its pool | `pools[].port` |
| ranks of a pool | ranks of the same pool | all, if replicas have several nodes |
| all | name servers of the cluster | 53 |
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from ..spec import Pool
from .source import GATEWAY, SERVER, Object, Source, labels, metadata

GATEWAY_LABELS = {"app.kubernetes.io/part-of": "sovctl", "app.kubernetes.io/name": "sovctl-gateway"}
"""Labels of the gateway's pods."""
_DNS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}


def network_policies(source: Source) -> list[Object]:
    """Return the policies of all namespaces."""
    spec = source.context.spec
    found = []
    for namespace in [*source.pool_namespaces, *([GATEWAY] if spec.gateway else [])]:
        found += [deny_all(namespace), name_servers(namespace)]
    for pool in source.pools:
        found.append(_servers(source, pool))
        if source.nnodes(pool) > 1:
            found.append(_ranks(source, pool))
    return found + ([_gateway(source)] if spec.gateway else [])


def prometheus_address(source: Source) -> str | None:
    """Return the address of Prometheus; None if it is absent, or a host name."""
    url = source.context.spec.sizing.autoscaling.prometheus_url
    if url is None or url.host is None:
        return None
    try:
        return str(ip_address(url.host))
    except ValueError:
        return None


def policy(name: str, namespace: str, selected: Object, **rules: list[Object]) -> Object:
    """Return a policy; `rules`: `ingress` and `egress`, an absent direction is not restricted by this policy."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name, namespace),
        "spec": {
            "podSelector": {"matchLabels": selected} if selected else {},
            "policyTypes": [each.capitalize() for each in rules],
            **rules,
        },
    }


def deny_all(namespace: str) -> Object:
    """Return the policy that denies all connections of a namespace."""
    made = policy("deny-all", namespace, {}, ingress=[], egress=[])
    del made["spec"]["ingress"], made["spec"]["egress"]
    return made


def name_servers(namespace: str) -> Object:
    """Return the policy that permits queries to the name servers of the cluster."""
    ports = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return policy("allow-name-servers", namespace, {}, egress=[{"to": [_DNS], "ports": ports}])


def _servers(source: Source, pool: Pool) -> Object:
    peers: list[Object] = [{"podSelector": {"matchLabels": {"endpoint-picker": pool.name}}}]
    if source.context.spec.gateway:
        peers.append(in_namespace(GATEWAY, GATEWAY_LABELS))
    if address := prometheus_address(source):
        peers.append(_block(f"{address}/32"))
    rule = {"from": peers, "ports": [tcp(pool.port)]}
    return policy(f"allow-{pool.name}-api", source.namespace(pool), labels(pool, SERVER), ingress=[rule])


def _ranks(source: Source, pool: Pool) -> Object:
    """Return the policy of rank-to-rank connections, whose ports NCCL and Gloo choose at random."""
    ranks: Object = {"pool": pool.name, "app.kubernetes.io/part-of": "sovctl"}
    peer = {"podSelector": {"matchLabels": ranks}}
    name, namespace = f"allow-{pool.name}-ranks", source.namespace(pool)
    return policy(name, namespace, ranks, ingress=[{"from": [peer]}], egress=[{"to": [peer]}])


def _gateway(source: Source) -> Object:
    spec, gateway = source.context.spec, source.context.gateway
    ingress = _from_networks(spec.perimeter.clients, gateway.port)
    if gateway.admin is not None and gateway.admin.reach == "management":
        ingress += _from_networks(spec.perimeter.management, gateway.admin.port)
    egress: list[Object] = [
        {"to": [in_namespace(source.namespace(pool), labels(pool, SERVER))], "ports": [tcp(pool.port)]}
        for pool in source.pools
    ]
    egress += [{"to": [_block(f"{each.address}/32")], "ports": [tcp(each.port)]} for each in spec.perimeter.exceptions]
    return policy("allow-gateway", GATEWAY, GATEWAY_LABELS, ingress=ingress, egress=egress)


def _from_networks(networks: Iterable[object], port: int) -> list[Object]:
    peers = [_block(str(network)) for network in networks]
    return [{"from": peers, "ports": [tcp(port)]}] if peers else []  # an empty `from` permits every source


def in_namespace(namespace: str, selected: Object) -> Object:
    """Return the peer of pods with labels in a namespace."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {"namespaceSelector": selector, "podSelector": {"matchLabels": selected}}


def _block(network: str) -> Object:
    return {"ipBlock": {"cidr": network}}


def tcp(port: int) -> Object:
    """Return a TCP port of a rule."""
    return {"protocol": "TCP", "port": port}
