"""The wall of every node of every preset, as the kernel takes and lists it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from strategies import PRESETS, context

from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.perimeter import NEIGHBOURS, Rules, listing, rules_for
from sovctl.engine.resources.serving.rank_ports import ASSIGNED_PORTS, ports_of
from sovctl.engine.spec import Node
from sovctl.engine.spec.fabric import InfinibandFabric
from sovctl.engine.spec.perimeter import SERVICES, Perimeter, Service
from sovctl.engine.spec.service_accounts import ENGINE_UID, GATEWAY_UID

INBOUND = re.compile(r"ip saddr (?P<from>[\d./]+)(?: tcp dport (?P<port>\d+|" + ASSIGNED_PORTS + r"))? accept")
OUTBOUND = re.compile(
    rf"ip daddr (?P<to>[\d./]+)(?: (?P<proto>tcp|udp) (?P<side>[sd])port (?P<port>\d+|{ASSIGNED_PORTS}))?"
    rf"(?P<gateway> meta skuid {GATEWAY_UID})?(?P<rank> meta skuid (?:0|{ENGINE_UID}))?"
    r"(?: meta time <= \"(?P<until>[\d-]+) 23:59:59\")? accept"
)
LONELY_NETWORK = ("unshare", "-n", "sh", "-c")


def test_nodes_with_compute_ports_reach_each_other_only_if_site_yaml_allows_it() -> None:
    site = context("closed-perimeter")
    group = next(each for each in site.spec.node_groups if len(each.nodes) > 1)
    node, *others = group.nodes
    fabric = InfinibandFabric(probe_node=node.name)

    def opened(allowed: bool) -> set[str]:
        spec = site.spec.model_copy(update={"fabric": fabric.model_copy(update={"node_connections": allowed})})
        rules = rules_for(replace(site, spec=spec), node)
        return {
            rule
            for rule in (*rules.inbound, *rules.outbound)
            if any(f" {each.address} accept" in rule for each in others)
        }

    assert opened(False) == set()
    assert opened(True) == {f"ip {side} {each.address} accept" for each in others for side in ("saddr", "daddr")}


def walls() -> list[tuple[str, Node]]:
    return [(preset, node) for preset in PRESETS for _, node in context(preset).spec.nodes()]


def text_of(site: Context, node: Node) -> str:
    rules = rules_for(site, node)
    return render("perimeter", "nftables.conf.j2", inbound=rules.inbound, outbound=rules.outbound)


def listed_by_kernel(path: Path) -> list[str]:
    command = [*LONELY_NETWORK, f"nft -f {path} && nft -f {path} && nft -s list ruleset"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nft") or not shutil.which("unshare"), reason="needs root, nft and unshare"
)
@pytest.mark.parametrize("preset", PRESETS)
def test_the_kernel_takes_every_wall_and_lists_it_as_it_is_written(preset: str, tmp_path: Path) -> None:
    seen = set()
    for _, node in context(preset).spec.nodes():
        text = text_of(context(preset), node)
        if (shape := re.sub(r"\d+", "0", text)) in seen:  # nodes that differ in numbers only
            continue
        seen.add(shape)
        path = tmp_path / f"{node.name}.conf"
        path.write_text(text)
        assert listing("\n".join(listed_by_kernel(path))) == listing(text)


def parsed(rules: Rules) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Every rule matches the two forms there are; anything else is a rule that nobody has thought about."""
    found = [INBOUND.fullmatch(rule) for rule in rules.inbound], [OUTBOUND.fullmatch(rule) for rule in rules.outbound]
    assert all(found[0]), rules.inbound
    assert all(found[1]), rules.outbound
    return [each for each in found[0] if each], [each for each in found[1] if each]


def between_ranks(site: Context, node: Node) -> set[tuple[IPv4Address, str]]:
    """Addresses of the other ranks of each replica on the node, with the ports that this replica uses."""
    return {
        (site.spec.node(rank.node).address, str(port))
        for replica in site.replicas_on(node)
        for rank in replica.ranks
        if rank.node != node.name
        for port in (*ports_of(site, replica), ASSIGNED_PORTS)
    }


@pytest.mark.parametrize(("preset", "node"), walls(), ids=lambda each: getattr(each, "name", each))
def test_a_pools_port_is_reached_from_gateways_and_peers_alone(preset: str, node: Node) -> None:
    site = context(preset)
    gateways = {each.address for each in site.gateway_nodes}
    inbound, _ = parsed(rules_for(site, node))
    ports = {replica.port for replica in site.replicas_on(node) if replica.head == node.name}
    reached: dict[int, set[IPv4Address]] = {port: set() for port in ports}
    for rule in inbound:
        network = IPv4Network(rule["from"])
        assert rule["port"] is not None
        if (network.network_address, rule["port"]) in between_ranks(site, node):
            continue
        if int(rule["port"]) in ports:
            reached[int(rule["port"])] |= set(network)
        elif int(rule["port"]) == site.spec.access.port:
            assert network in site.spec.perimeter.management
        elif site.gateway.admin is not None and int(rule["port"]) == site.gateway.admin.port:
            assert site.is_gateway(node)
            assert site.gateway.admin.reach == "management"
            assert network in site.spec.perimeter.management
        elif site.is_mirror(node):
            assert site.spec.mirror is not None
            assert int(rule["port"]) == site.spec.mirror.port
            assert network.network_address in {each.address for _, each in site.spec.nodes()}
        else:
            assert site.is_gateway(node)
            assert int(rule["port"]) == site.gateway.port
            assert network in site.spec.perimeter.clients
    assert all(found == gateways for found in reached.values())


@pytest.mark.parametrize(("preset", "node"), walls(), ids=lambda each: getattr(each, "name", each))
def test_out_goes_what_the_site_names_and_nothing_else(preset: str, node: Node) -> None:
    site = context(preset)
    artifacts = site.spec.artifacts
    mirrors = {(str(url.host), url.port) for url in (artifacts.apt_url, artifacts.wheels_url, artifacts.models_url)}
    heads = {(str(site.spec.node(each.head).address), each.port) for each in site.replicas}
    holes = {(str(each.address), each.port): each.expires for each in site.spec.perimeter.exceptions}
    dns, logs = site.spec.host.dns, site.spec.host.logs
    of_host = {(str(server), 53) for server in (dns.servers if dns else ())}
    of_host |= {(str(logs.address), logs.port)} if logs else set()
    for rule in parsed(rules_for(site, node))[1]:
        if rule["rank"]:
            assert (IPv4Address(rule["to"]), rule["port"]) in between_ranks(site, node)
            continue
        to, port = rule["to"], int(rule["port"])
        if rule["gateway"]:
            assert site.is_gateway(node)
            assert rule["until"] == holes.get((to, port))
            assert (to, port) in heads or (to, port) in holes
        elif (to, port) in of_host:
            continue
        elif rule["proto"] == "udp":
            assert (port, to in site.spec.clock.servers) == (123, True)
        elif rule["side"] == "s":  # answers of an ssh session that began before the wall stood
            assert IPv4Network(to) in site.spec.perimeter.management
            assert port == site.spec.access.port
        else:
            assert (to, port) in mirrors


def test_a_hole_closes_by_itself_after_its_last_day(tmp_path: Path) -> None:
    site = context("lab")
    [hole] = [rule for rule in rules_for(site, site.spec.node("s1")).outbound if "meta time" in rule]
    [exception] = site.spec.perimeter.exceptions
    assert f'meta time <= "{exception.expires} 23:59:59"' in hole
    assert f"meta skuid {GATEWAY_UID}" in hole


def test_without_a_gateway_nothing_serves_and_nothing_leaves() -> None:
    site = context("lab")
    closed = replace(site, spec=site.spec.model_copy(update={"gateway": None}))
    for _, node in closed.spec.nodes():
        rules = rules_for(closed, node)
        assert not any("skuid" in rule for rule in rules.outbound)
        assert all("dport 22 " in rule for rule in rules.inbound)


def test_both_ways_are_dropped_by_default_for_both_families() -> None:
    site = context("lab")
    lines = listing(text_of(site, site.spec.node("n1")))
    assert lines[0] == "table inet sovctl {"  # inet: IPv4 and IPv6
    assert sum("policy drop;" in line for line in lines) == 3
    assert not any(line == "accept" for line in lines)


FLOWS = Perimeter.model_validate(
    {
        "management": ["10.77.0.1/32"],
        "flows": [
            {"name": "siem", "service": "siem", "addresses": ["10.77.0.9", "fd00:77::9"]},
            {"name": "names", "service": "dns", "addresses": ["10.77.0.8/30"], "node_groups": ["gpu"]},
            {"name": "metrics", "service": "monitoring", "addresses": ["fd00:77:1::/64"], "ports": [9100]},
            {"name": "copies", "service": "backup", "addresses": ["10.77.3.0/24"], "ports": [9392], "direction": "in"},
        ],
    }
).flows


def with_flows() -> Context:
    site = context("lab")
    perimeter = site.spec.perimeter.model_copy(update={"flows": FLOWS})
    groups = [group.model_copy(update={"name": "gpu"}) for group in site.spec.node_groups[:1]]
    groups += site.spec.node_groups[1:]
    return replace(site, spec=site.spec.model_copy(update={"perimeter": perimeter, "node_groups": groups}))


def test_flows_open_their_own_direction_address_and_ports() -> None:
    site = with_flows()
    rules = rules_for(site, site.spec.node("n1"))
    assert "ip daddr 10.77.0.9 tcp dport 6514 accept" in rules.outbound
    assert "ip6 daddr fd00:77::9 tcp dport 6514 accept" in rules.outbound
    assert {f"ip daddr 10.77.0.8/30 {each} dport 53 accept" for each in ("udp", "tcp")} <= set(rules.outbound)
    assert "ip6 saddr fd00:77:1::/64 tcp dport 9100 accept" in rules.inbound
    assert "ip saddr 10.77.3.0/24 tcp dport 9392 accept" in rules.inbound
    assert not any("6514" in rule for rule in rules.inbound)
    assert not any("9392" in rule or "dport 9100" in rule for rule in rules.outbound)


def test_a_flow_is_limited_to_its_node_groups() -> None:
    site = with_flows()
    elsewhere = [node for group, node in site.spec.nodes() if group.name != "gpu"]
    assert elsewhere
    for node in elsewhere:
        assert not any("dport 53 " in rule for rule in rules_for(site, node).outbound)


def test_neighbour_discovery_is_open_only_with_flows_over_ipv6() -> None:
    for site, expected in ((context("lab"), False), (with_flows(), True)):
        rules = rules_for(site, site.spec.node("n1"))
        assert (NEIGHBOURS in rules.inbound, NEIGHBOURS in rules.outbound) == (expected, expected)


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nft") or not shutil.which("unshare"), reason="needs root, nft and unshare"
)
def test_the_kernel_lists_flows_as_they_are_written(tmp_path: Path) -> None:
    site = with_flows()
    path = tmp_path / "n1.conf"
    path.write_text(text_of(site, site.spec.node("n1")))
    assert listing("\n".join(listed_by_kernel(path))) == listing(path.read_text())


def test_every_service_has_a_direction_protocols_and_a_source() -> None:
    assert set(SERVICES) == set(Service)
    assert all(each.protocols and each.source for each in SERVICES.values())
    assert [service for service, each in SERVICES.items() if not each.ports] == [Service.BACKUP]
