"""Risk and minutes of pools: nothing stops that does not run, and a start takes as long as its weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import empty, planned, server_process, with_file, with_process
from strategies import PRESETS, context

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.resources.resource import Risk, Verb
from sovctl.engine.resources.serving.start_time import DRAIN_MINUTES, start_minutes, start_timeout_s
from sovctl.engine.sizing.memory.weights import Weights

MODEL = "/srv/sovctl/models/echo/MANIFEST"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_site_stops_no_pool(preset: str) -> None:
    facts = {node.name: empty(node.name) for _, node in context(preset).spec.nodes()}
    found = changes(context(preset), facts)
    assert {change.kind for change in found} >= {"pool", "model", "environment"}
    assert not [change for change in found if change.risk is Risk.WORKLOAD]


def lab(change_n1: NodeFacts, active: str) -> dict[str, Risk]:
    """Risk of each change of the lab, by kind, if the pool's unit is in this state."""
    facts = dict(planned("lab")[0])
    unit = replace(change_n1.units["sovctl-pool-chat"], active=active)
    facts["n1"] = replace(change_n1, units={**change_n1.units, "sovctl-pool-chat": unit})
    return {change.kind: change.risk for change in changes(context("lab"), facts)}


@pytest.mark.parametrize(
    ("active", "expected"),
    [("active", Risk.WORKLOAD), ("activating", Risk.WORKLOAD), ("failed", Risk.NONE), ("inactive", Risk.NONE)],
)
def test_weights_and_their_pool_are_at_risk_only_while_it_runs(active: str, expected: Risk) -> None:
    changed = with_file(planned("lab")[0]["n1"], MODEL)
    assert lab(changed, active) == {"model": expected, "pool": expected}


def test_a_pool_of_another_name_is_not_stopped_by_weights_that_it_does_not_load() -> None:
    """The unit file of an orphan is there, so changes of the engine can stop it, and those of other weights cannot."""
    orphan = with_file(planned("lab")[0]["n1"], "/etc/systemd/system/sovctl-pool-old.service")
    found = lab(with_file(orphan, MODEL), "failed")
    assert found["model"] is Risk.NONE


def test_a_restart_waits_for_running_requests_and_a_start_does_not() -> None:
    site, facts = context("lab"), dict(planned("lab")[0])
    desired = next(each for each in desired_on(site, site.spec.node("n1"), None) if each.kind == "pool")
    facts["n1"] = with_process(facts["n1"], "sovctl-pool-chat.service", server_process(desired) | {"folders": []})
    (restart,) = changes(site, facts)
    assert (restart.verb, restart.risk) == (Verb.UPDATE, Risk.WORKLOAD)
    assert restart.minutes == pytest.approx(desired.minutes + DRAIN_MINUTES)


def test_minutes_grow_with_the_weights_and_fall_with_the_rate_and_the_nodes() -> None:
    site = context("superpod-b200")
    assert site.spec.sizing.storage.read_gb_s == 8
    first = {replica.pool: replica for replica in reversed(site.replicas)}
    minutes = {name: start_minutes(site, replica) for name, replica in first.items()}
    total = Weights.of(site.models["deepseek-r1"]).total_bytes(tensor_parallel_size=8)
    assert minutes["reasoning"] == pytest.approx((397 + total / 8e9) / 60, abs=0.11)  # block FP8
    assert minutes["embeddings"] < minutes["chat"] < minutes["reasoning"]
    storage = site.spec.sizing.storage.model_copy(update={"read_gb_s": None})
    sizing = site.spec.sizing.model_copy(update={"storage": storage})
    slower = replace(site, spec=site.spec.model_copy(update={"sizing": sizing}))
    assert start_minutes(slower, first["reasoning"]) > 2 * minutes["reasoning"]
    assert start_timeout_s(site, first["reasoning"]) == round(2 * 60 * minutes["reasoning"])
    lab = context("lab")
    assert start_timeout_s(lab, lab.replicas[0]) > 395  # the slowest start of the lab on a busy machine
