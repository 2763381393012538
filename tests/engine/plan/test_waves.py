"""Waves: everything once, ranks together, floors kept, one gateway at a time, the cheapest group first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_nodes import planned
from strategies import PRESETS, context

from sovctl.engine.plan.serving import GATEWAYS, Server, Serving
from sovctl.engine.plan.waves import WAVE_SHARE, Wave, downtime, waves
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.pool import instance
from sovctl.engine.resources.resource import Change, Risk, Verb

Made = tuple[str, list[Change], frozenset[Server]]


def change(node: str, kind: str = "clock", verb: Verb = Verb.UPDATE, name: str = "it") -> Change:
    before = None if verb is Verb.CREATE else {"x": 1}
    after = None if verb is Verb.DELETE else {"x": 2}
    risk = {"perimeter": Risk.CONNECTION, "pool": Risk.WORKLOAD, "gateway": Risk.SERVICE}.get(kind, Risk.NONE)
    return Change(node, kind, name, verb, before, after, "why", risk, 0.1)


def restarts(site: Context) -> list[Change]:
    """A restart of every replica and of every gateway of a site."""
    pools = [change(rank.node, "pool", name=instance(each)) for each in site.replicas for rank in each.ranks]
    return pools + [change(node.name, "gateway", name="gateway") for node in site.gateway_nodes]


def all_serving(site: Context) -> frozenset[Server]:
    return frozenset(Serving(site).nodes)


@st.composite
def planned_changes(draw: st.DrawFn) -> Made:
    preset = draw(st.sampled_from(PRESETS))
    site = context(preset)
    nodes = [node.name for _, node in site.spec.nodes()]
    chosen = draw(st.lists(st.sampled_from(nodes), unique=True, max_size=len(nodes)))
    kinds = st.sampled_from(("clock", "package", "perimeter", "pool", "gateway", "service"))
    made = []
    for node in chosen:
        names = [server.name for server in Serving(site).on_node.get(node, ())] or ["it"]
        made.append(change(node, draw(kinds), draw(st.sampled_from(Verb)), draw(st.sampled_from(names))))
    everything = sorted(all_serving(site))
    return preset, made, frozenset(draw(st.sets(st.sampled_from(everything))))


@settings(deadline=None)
@given(made=planned_changes())
def test_every_changed_node_is_in_one_wave_and_no_other_node_is(made: Made) -> None:
    preset, changes, serving = made
    found = [node for wave in waves(context(preset), changes, serving) for node in wave.nodes]
    assert sorted(found) == sorted({each.node for each in changes})


@settings(deadline=None)
@given(made=planned_changes())
def test_nodes_that_share_a_replica_go_together(made: Made) -> None:
    preset, changes, serving = made
    place = {node: wave.name for wave in waves(context(preset), changes, serving) for node in wave.nodes}
    for replica in context(preset).replicas:
        assert len({place[rank.node] for rank in replica.ranks if rank.node in place}) <= 1


@settings(deadline=None)
@given(made=planned_changes())
def test_no_wave_takes_a_service_below_its_floor_unless_one_group_alone_does(made: Made) -> None:
    preset, changes, serving = made
    site = Serving(context(preset))
    largest_group = max((len(replica.ranks) for replica in site.context.replicas), default=1)
    for wave in waves(site.context, changes, serving):
        taken = site.interrupted(each for each in changes if each.node in wave.nodes) & serving
        left = Counter(server.service for server in serving - taken)
        below = {server.service for server in taken if left[server.service] < site.floors[server.service]}
        assert below == {each.service for each in wave.capacity if not each.is_kept}
        assert not below or len(wave.nodes) <= largest_group


@settings(deadline=None)
@given(made=planned_changes())
def test_a_wave_has_at_most_one_serving_gateway_and_a_quarter_of_a_service(made: Made) -> None:
    preset, changes, serving = made
    site = Serving(context(preset))
    before = Counter(server.service for server in serving)
    for wave in waves(site.context, changes, serving):
        assert sum(Server(GATEWAYS, node) in serving for node in wave.nodes) <= 1
        taken = site.interrupted(each for each in changes if each.node in wave.nodes) & serving
        for service, count in Counter(server.service for server in taken).items():
            nodes = {node for server in taken if server.service == service for node in site.nodes[server]}
            one_group = any(nodes <= set(ranks) for ranks in site.nodes.values())
            assert count <= before[service] * WAVE_SHARE or one_group


@settings(deadline=None)
@given(made=planned_changes())
def test_where_something_serves_gateways_change_after_everything_else(made: Made) -> None:
    preset, changes, serving = made
    site = context(preset)
    gateways = {node.name for node in site.gateway_nodes}
    removals = {each.node for each in changes if each.kind == "pool" and each.verb is Verb.DELETE} - gateways
    order = [
        {2 if node in removals else int(node in gateways) for node in wave.nodes}
        for wave in waves(site, changes, serving)
    ]
    if serving:
        assert all(len(stages) == 1 for stages in order)
        assert order == sorted(order, key=min)


def test_a_superpod_keeps_its_floors_and_its_gateways() -> None:
    """Before, one wave took all 16 replicas of the embeddings, and one all four gateways."""
    site = context("superpod-b200")
    found = waves(site, restarts(site), all_serving(site))
    assert downtime(found) == {}
    least = {each.service: each.during for wave in reversed(found) for each in wave.capacity}
    for wave in found:
        for each in wave.capacity:
            least[each.service] = min(least[each.service], each.during)
    assert least == {"long-context": 3, "reasoning": 6, "chat": 24, "code": 3, "embeddings": 8, "gateway": 3}
    assert [len(wave.nodes) for wave in found[-4:]] == [1, 1, 1, 1]


def test_a_single_replica_is_downtime_and_a_floor_of_zero_permits_it() -> None:
    site = context("bank-hybrid")
    one = site.spec.model_copy(update={"rollout": site.spec.rollout.model_copy(update={"min_serving": "100%"})})
    strict = replace(site, spec=one)
    found = waves(strict, restarts(strict), all_serving(strict))
    assert set(downtime(found)) == {"assistant", "code", "triage", "embeddings", GATEWAYS}
    none = site.spec.model_copy(update={"rollout": site.spec.rollout.model_copy(update={"min_serving": "0"})})
    loose = replace(site, spec=none)
    assert downtime(waves(loose, restarts(loose), all_serving(loose))) == {}


def test_a_pool_that_does_not_serve_loses_nothing() -> None:
    site = context("lab")
    assert [wave.capacity for wave in waves(site, restarts(site), ())] == [(), ()]


def test_clients_of_a_moved_pool_are_served_until_the_gateways_know_the_new_place() -> None:
    site = context("bank-hybrid")
    made = [change("dgx-1", "pool", Verb.DELETE, "code"), change("dgx-2", "pool", Verb.CREATE, "code")]
    made += [change(name, "gateway", name="gateway") for name in ("gw-1", "gw-2")]
    found = waves(site, made, all_serving(site))
    assert [wave.nodes for wave in found] == [("dgx-2",), ("gw-1",), ("gw-2",), ("dgx-1",)]


def test_a_plan_without_changes_has_no_wave() -> None:
    assert waves(context("lab"), [], ()) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_servers_of_planned_nodes_serve_and_a_stopped_unit_does_not(preset: str) -> None:
    facts, handles = planned(preset)
    site = Serving(context(preset))
    assert site.now(facts) == all_serving(site.context)
    for node, handle in handles:
        if handle.key == "active" and handle.kind in ("pool", "gateway"):
            lost = all_serving(site.context) - site.now({**facts, node: handle.change(facts[node])})
            assert {server.name for server in lost} == {node if handle.kind == "gateway" else handle.name}


def test_a_wave_is_the_same_after_a_plan_file() -> None:
    site = context("superpod-b200")
    for wave in waves(site, restarts(site), all_serving(site)):
        assert Wave.from_json(wave.to_json()) == wave
