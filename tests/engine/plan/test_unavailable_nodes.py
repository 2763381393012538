"""A drained or quarantined node gets no replica, and the gateway sends it no request."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from example_sites import example
from planned_nodes import empty, with_file

from sovctl.engine.lifecycle import store
from sovctl.engine.lifecycle.records import Fleet
from sovctl.engine.lifecycle.states import Event
from sovctl.engine.plan.build import desired_on
from sovctl.engine.resources.gateway.service import configuration
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
