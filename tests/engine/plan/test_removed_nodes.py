"""The plan of a removed node: every step in a safe order, last of all nodes, and nothing that stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch

import pytest
from removed_node import GONE, PATHS, facts_with, remains, site_without_it, used
from strategies import PRESETS, context

from sovctl.engine.apply.availability.rollout import Rollout
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, desired_on, requests
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.plan.scope import Scope
from sovctl.engine.plan.serving import Serving
from sovctl.engine.plan.support import refusals
from sovctl.engine.plan.waves import waves
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.removal.steps import LEFT, STEPS
from sovctl.engine.resources.resource import Risk, Verb


@pytest.fixture
def site() -> Context:
    return site_without_it()


def test_a_removed_node_is_cleaned_in_order_and_its_registration_is_last(site: Context) -> None:
    found = changes(site, facts_with(used()))
    assert {change.node for change in found} == {GONE.name}
    names = [change.name for change in found]
    assert names == [*(step.name for step in STEPS if step.name in {*PATHS, "accounts"}), "registration"]
    assert names.index("services") < names.index("secrets") < names.index("data") < names.index("accounts")
    assert names[-2:] == ["firewall", "registration"]
    assert {change.verb for change in found} == {Verb.DELETE}
    assert [change.name for change in found if change.risk is not Risk.NONE] == ["services"]
    assert found[0].risk is Risk.WORKLOAD


def test_timers_and_probes_stop_before_the_pools_that_they_restart(site: Context) -> None:
    folder = "/etc/systemd/system/"
    names = ["sovctl-pool-a.service", "sovctl-pool-a.service.d", "sovctl-probe-a.service", "sovctl-probe-a.timer"]
    facts = remains({"services": [f"{folder}{name}" for name in names]})
    [services] = [each for each in desired_on(site, GONE, facts) if each.name == "services"]
    assert services.variables["units"] == ["sovctl-probe-a.timer", "sovctl-probe-a.service", "sovctl-pool-a.service"]
    assert services.variables["paths"] == [f"{folder}{name}" for name in names]


def test_a_clean_node_is_only_registered(site: Context) -> None:
    found = changes(site, facts_with(remains({})))
    assert [(change.name, change.before) for change in found] == [("registration", {"address": str(GONE.address)})]


@pytest.mark.parametrize("scope", [Scope(nodes=("gw-1",)), Scope(targets=("removal",)), Scope(nodes=(GONE.name,))])
def test_a_part_of_a_plan_removes_no_node(site: Context, scope: Scope) -> None:
    assert not [change for change in changes(site, facts_with(used()), scope=scope) if change.kind == "removal"]


def test_an_unobserved_node_is_not_planned(site: Context) -> None:
    assert changes(site, facts_with(None)) == []


def test_the_probe_of_a_removed_node_asks_only_for_remains(site: Context) -> None:
    request = requests(site)[GONE.name]
    assert "remains" in request.commands
    assert "unmanaged" not in request.commands
    assert refusals(site, {GONE.name: remains({})}) == []


def test_removed_nodes_are_in_the_last_wave(site: Context) -> None:
    facts = facts_with(used())
    stale = {**facts, "gw-1": _without_gateway_settings(facts["gw-1"])}
    made = waves(site, changes(site, stale), Serving(site).now(facts))
    assert [wave.nodes for wave in made] == [("gw-1",), (GONE.name,)]


def _without_gateway_settings(facts: NodeFacts) -> NodeFacts:
    files = {path: entry for path, entry in facts.files.items() if path != "/etc/sovctl/gateway.yaml"}
    return replace(facts, files=files)


def test_a_removed_node_waits_for_every_gateway_that_may_route_to_it(site: Context) -> None:
    found = changes(site, facts_with(used()))
    serving = Serving(site)
    rollout = Rollout(serving, serving.now(facts_with(used())), (), 1)
    assert rollout.permit({GONE.name: found})[0].keys() == {GONE.name}
    rollout.failed["gw-2"] = "exit 1"
    assert rollout.permit({GONE.name: found})[0] == {}
    assert "the gateway on gw-2" in rollout.deferred[GONE.name]


def test_a_removed_node_waits_until_every_service_keeps_its_floor_without_it(site: Context) -> None:
    serving = Serving(site)
    now = frozenset(server for server in serving.now(facts_with(used())) if server.service != "general")
    rollout = Rollout(serving, now, (), 1)
    assert rollout.permit({GONE.name: changes(site, facts_with(used()))})[0] == {}
    assert rollout.deferred[GONE.name].startswith("general 0/")


def test_every_file_that_sovctl_writes_is_removed_or_listed_as_left() -> None:
    patterns = [path for step in STEPS for path in step.paths]
    blocks = [path for step in STEPS for path in step.blocks]
    left = ", ".join(LEFT)
    missing = []
    for path in sorted(set(_written())):
        is_removed = any(fnmatch(path, each) or path.startswith(f"{each.rstrip('/*')}/") for each in patterns)
        if not is_removed and path not in blocks and path not in left:
            missing.append(path)
    assert missing == []


def _written() -> Iterator[str]:
    """Paths that the roles write: variables of all resources, and queried files with the name of sovctl."""
    for preset in PRESETS:
        site = context(preset)
        for _, node in site.spec.nodes():
            for kind in RESOURCE_TYPES:
                query = kind.query(site, node)
                yield from (path for path in (*query.hash, *query.read) if "sovctl" in path and "*" not in path)
            for desired in desired_on(site, node, None):
                if desired.kind not in ("attributes", "storage"):  # folders of the operating system, and mounts
                    names = ("path", "folder", "link")
                    yield from (str(desired.variables[key]) for key in names if desired.variables.get(key))
