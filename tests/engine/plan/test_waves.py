"""Waves: everything once, ranks together, the cheapest node first, gateways last, and never too many at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import PRESETS, context

from sovctl.engine.plan.waves import WAVE_SHARE, waves
from sovctl.engine.resources.resource import Change, Risk, Verb


def change(node: str, kind: str = "clock", verb: Verb = Verb.UPDATE) -> Change:
    before = None if verb is Verb.CREATE else {"x": 1}
    after = None if verb is Verb.DELETE else {"x": 2}
    return Change(node, kind, "it", verb, before, after, "why", Risk.NONE, 0.1)


@st.composite
def planned_changes(draw: st.DrawFn) -> tuple[str, list[Change]]:
    preset = draw(st.sampled_from(PRESETS))
    nodes = [node.name for _, node in context(preset).spec.nodes()]
    chosen = draw(st.lists(st.sampled_from(nodes), unique=True, max_size=len(nodes)))
    kinds = st.sampled_from(("clock", "package", "perimeter", "pool", "gateway"))
    return preset, [change(node, draw(kinds), draw(st.sampled_from(Verb))) for node in chosen]


@settings(deadline=None)
@given(made=planned_changes())
def test_every_changed_node_is_in_one_wave_and_no_other_node_is(made: tuple[str, list[Change]]) -> None:
    preset, changes = made
    found = [node for wave in waves(context(preset), changes) for node in wave.nodes]
    assert sorted(found) == sorted({each.node for each in changes})


@settings(deadline=None)
@given(made=planned_changes())
def test_nodes_that_share_a_replica_go_together(made: tuple[str, list[Change]]) -> None:
    preset, changes = made
    place = {node: wave.name for wave in waves(context(preset), changes) for node in wave.nodes}
    for replica in context(preset).replicas:
        assert len({place[rank.node] for rank in replica.ranks if rank.node in place}) <= 1


@settings(deadline=None)
@given(made=planned_changes())
def test_the_canary_costs_least_and_waves_stay_small(made: tuple[str, list[Change]]) -> None:
    preset, changes = made
    site, found = context(preset), waves(context(preset), changes)

    def cost(nodes: tuple[str, ...]) -> tuple[bool, int]:
        each = [site.spec.node(name) for name in nodes]
        served = {(one.pool, one.index) for node in each for one in site.replicas_on(node)}
        return any(map(site.is_gateway, each)), len(served)

    largest_group = max((len(replica.ranks) for replica in site.replicas), default=1)
    count = sum(len(wave.nodes) for wave in found)
    for number, wave in enumerate(found):
        if number == 0:
            assert wave.name == "canary"
            assert len(wave.nodes) <= largest_group
            alone = [(name,) for other in found[1:] for name in other.nodes]
            if largest_group == 1:
                assert all(cost(wave.nodes) <= cost(nodes) for nodes in alone)
        else:
            assert len(wave.nodes) <= max(1, round(count * WAVE_SHARE), count - 1 if count <= 4 else 0, largest_group)


@settings(deadline=None)
@given(made=planned_changes())
def test_where_something_serves_gateways_change_after_everything_else(made: tuple[str, list[Change]]) -> None:
    preset, changes = made
    if all(each.kind not in ("pool", "gateway") or each.verb is Verb.CREATE for each in changes):
        return
    site = context(preset)
    gateways = {node.name for node in site.gateway_nodes}
    kinds = [
        {name in gateways for name in wave.nodes} for wave in waves(site, changes)
    ]  # of each wave: does it hold gateways, does it hold others
    shared = any(site.replicas_on(node) for node in site.gateway_nodes)
    assert shared or all(len(kind) == 1 for kind in kinds)
    assert shared or kinds == sorted(kinds, key=lambda kind: True in kind)


def test_a_plan_without_changes_has_no_wave() -> None:
    assert waves(context("lab"), []) == []


def test_a_node_that_only_loses_a_pool_counts_as_serving() -> None:
    made = [change("n1", "pool", Verb.DELETE), change("n2"), change("s1", "gateway", Verb.CREATE)]
    assert waves(context("lab"), made)[-1].nodes == ("s1",)
