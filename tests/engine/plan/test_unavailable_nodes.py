"""A drained or quarantined node gets no replica, and the gateway sends it no request."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from example_sites import example
from planned_nodes import empty, with_file

from sovctl.engine.checks.definitions.gateway.answers import GatewayAnswers
from sovctl.engine.checks.runner.build_context import build_context
from sovctl.engine.lifecycle import store
from sovctl.engine.lifecycle.operations import Operations
from sovctl.engine.lifecycle.records import Fleet
from sovctl.engine.lifecycle.states import Event
from sovctl.engine.plan.build import desired_on
from sovctl.engine.resources.gateway.service import CONFIG, UNIT_FILE, configuration
from sovctl.engine.site.site import Site
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return example("bank-hybrid", tmp_path / "bank")


def send(site: Site, event: Event, *nodes: str) -> None:
    before = store.load(site.state.root)
    after = before
    for node in nodes:
        after = after.after(node, event, now=NOW, reason="Xid 79", operator="ops")
    site.state.prepare()
    store.save(site.state.root, "bank", before, after, reason="", operator="ops", time="2026-11-27T10:00:00Z")


def names(site: Site, node: str, kind: str) -> list[str]:
    context = site.context()
    facts = with_file(empty(node), "/etc/sovctl/pools/chat.yaml")
    found = desired_on(context, context.spec.node(node), facts)
    return [each.name for each in found if each.kind == kind and each.state is not None]


def with_replicas(site: Site) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for replica in site.context().serving_replicas:
        for rank in replica.ranks:
            found.setdefault(rank.node, []).append(replica.pool)
    return found


@pytest.mark.parametrize("event", [Event.DRAIN, Event.QUARANTINE])
def test_a_node_that_must_not_serve_gets_no_replica_but_keeps_its_models(site: Site, event: Event) -> None:
    node = _redundant_node(site)
    models = names(site, node, "model")
    assert names(site, node, "pool")
    send(site, event, node)
    assert names(site, node, "pool") == []
    assert names(site, node, "model") == models
    address = str(site.spec.node(node).address)
    assert address not in str(configuration(site.context())["upstreams"])


@pytest.mark.parametrize("event", [Event.DRAIN, Event.QUARANTINE])
def test_a_gateway_on_a_node_that_must_not_serve_stops_and_keeps_its_credentials(site: Site, event: Event) -> None:
    first, *others = [node.name for node in site.context().gateway_nodes]
    assert others
    credentials = names(site, first, "credential")
    send(site, event, first)
    context = site.context()
    facts = with_file(with_file(empty(first), CONFIG), UNIT_FILE)
    [stopped] = [each for each in desired_on(context, context.spec.node(first), facts) if each.kind == "gateway"]
    assert (stopped.state, stopped.variables["files"]) == (None, [CONFIG, UNIT_FILE])
    assert stopped.why.startswith("this node must not serve")
    assert names(site, first, "credential") == credentials
    assert names(site, first, "gateway") == []
    assert names(site, others[0], "gateway") == ["gateway"]


def test_checks_of_a_stopped_gateway_do_not_apply(site: Site) -> None:
    first = site.context().gateway_nodes[0]
    send(site, Event.QUARANTINE, first.name)
    checks = build_context(site, today=NOW.date())
    expected = {
        name: list(GatewayAnswers().expect(checks, site.spec.node(name))) for name in site.context().gateway.nodes
    }
    assert [name for name, found in expected.items() if not found] == [first.name]


def test_the_last_gateway_is_stopped_only_by_force(site: Site) -> None:
    gateways = [node.name for node in site.context().gateway_nodes]
    site.state.prepare()
    operations = Operations(site.spec, site.state.root)
    operations.quarantine(gateways[:-1], reason="fault")
    with pytest.raises(InputError, match=f"no gateway would serve any client without {gateways[-1]}"):
        operations.send(gateways[-1:], Event.DRAIN, reason="fan")
    with pytest.raises(InputError, match="no gateway would serve"):
        operations.quarantine(gateways[-1:], reason="fault")
    assert operations.fleet.unavailable() == frozenset(gateways[:-1])
    operations.send(gateways[-1:], Event.DRAIN, reason="fan", force=True)
    assert operations.fleet.unavailable() == frozenset(gateways)


def test_a_suspect_node_serves_until_it_is_drained(site: Site) -> None:
    node = _redundant_node(site)
    before = names(site, node, "pool")
    send(site, Event.SUSPECT, node)
    assert names(site, node, "pool") == before


def test_a_plan_that_leaves_a_pool_without_replicas_is_refused(site: Site) -> None:
    send(site, Event.DRAIN, *with_replicas(site))
    with pytest.raises(InputError, match="has no replica on available nodes; unavailable: "):
        site.context()


def test_unreadable_node_records_stop_the_plan(site: Site) -> None:
    (site.state.prepare().root / store.FILE).write_text("{")
    with pytest.raises(InputError, match="unreadable node records"):
        site.context()


def test_a_site_without_records_places_all_replicas(site: Site) -> None:
    assert store.load(site.state.root) == Fleet()
    assert site.context().serving_replicas == site.context().replicas


def _redundant_node(site: Site) -> str:
    """Return a node whose pools all have another node."""
    pools = with_replicas(site)
    for node, own in pools.items():
        if all(any(pool in pools[other] for other in pools if other != node) for pool in own):
            return node
    raise AssertionError("the example has no redundant node")
