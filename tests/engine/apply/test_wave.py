"""Waves of an apply: drained before, proven and checked after, budget and floor kept, servers given back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.apply.ansible import Failure
from sovctl.engine.apply.availability.drain import Drained
from sovctl.engine.apply.availability.gate import GateResult
from sovctl.engine.apply.availability.rollout import Rollout
from sovctl.engine.apply.journal import UNPROVEN, Journal, read, unproven
from sovctl.engine.apply.outcome import ApplyFailed
from sovctl.engine.apply.progress import Progress
from sovctl.engine.apply.wave import WaveRunner
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.plan.scope import EVERYTHING
from sovctl.engine.plan.serving import Server, Serving
from sovctl.engine.plan.waves import waves
from sovctl.engine.resources.context import Context

PRESET = "closed-perimeter"


def fabric_restart_due(site: Context) -> dict[str, NodeFacts]:
    """Facts of a site on which every replica runs an old unit file."""
    facts, handles = planned(PRESET)
    made = dict(facts)
    for node, handle in handles:
        if handle.kind in ("pool", "gateway") and handle.key == "unit_sha256":
            made[node] = handle.change(made[node])
    return made


@dataclass
class Nodes:
    """Executor, drainer and gate over facts in memory; every call is one line in `log`."""

    facts: dict[str, NodeFacts]
    broken: dict[str, str] = field(default_factory=dict)
    """Node to what fails there: `task`, `difference`, `check`, `silence`."""
    log: list[str] = field(default_factory=list)
    left_drained: dict[Server, str] = field(default_factory=dict)

    def change(self, ids: Mapping[str, Collection[str]]) -> list[Failure]:
        self.log.append(f"change {'+'.join(ids)}")
        wanted, _ = planned(PRESET)
        for node in ids:
            if self.broken.get(node) not in ("task", "difference"):
                self.facts[node] = wanted[node]
        return [Failure(node, "pool", "restart", "exit 1") for node in ids if self.broken.get(node) == "task"]

    def observe(self, nodes: Collection[str]) -> dict[str, NodeFacts]:
        return {node: self.facts[node] for node in nodes if self.broken.get(node) != "silence"}

    def check(self, kinds: Mapping[str, Collection[str]]) -> GateResult:
        self.log.append(f"check {'+'.join(kinds)}")
        found = {node: "gpu.count UNKNOWN: no answer" for node in kinds if self.broken.get(node) == "check"}
        return GateResult(found, ("gate-20261127T000000Z-0001",))

    def drain(self, servers: Collection[Server], *, gateways: Collection[str]) -> Drained:
        self.log.append(f"drain {'+'.join(sorted(each.name for each in servers))} on {'+'.join(gateways)}")
        return Drained(frozenset(servers), {})

    def undrain(self, servers: Collection[Server], *, gateways: Collection[str]) -> None:
        self.log.append(f"undrain {'+'.join(sorted(each.name for each in servers))}")

    def drained(self, *, gateways: Collection[str]) -> dict[Server, str]:
        return self.left_drained


@dataclass
class Run:
    nodes: Nodes
    runner: WaveRunner
    journal: Path
    shown: list[Progress]

    def go(self) -> None:
        made = waves(self.runner.context, self.runner.changes, self.runner.rollout.serving)
        with self.runner.journal:
            self.runner.run_all(made)

    def events(self) -> list[str]:
        return [event["event"] for event in read(self.journal)]


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Run]:
    numbers = count()

    def make(budget: int = 0, left: Mapping[Server, str] = MappingProxyType({}), **broken: str) -> Run:
        site = context(PRESET)
        facts = fabric_restart_due(site)
        serving = Serving(site)
        nodes = Nodes(
            dict(facts), {name.replace("_", "-"): what for name, what in broken.items()}, left_drained=dict(left)
        )
        journal, shown = Journal(tmp_path, f"run-{next(numbers)}", "ab" * 32), []
        rollout = Rollout(serving, serving.now(facts), (), budget)
        runner = WaveRunner(
            site, changes(site, facts), dict(facts), EVERYTHING, rollout, nodes, nodes, nodes, journal, shown.append
        )
        return Run(nodes, runner, journal.path, shown)

    return make


def test_replicas_are_drained_on_all_gateways_and_given_back_after_proof_and_checks(start: Callable[..., Run]) -> None:
    run = start()
    run.go()
    assert run.nodes.log[:8] == [
        "drain reasoning on gw-1+gw-2",
        "change hgx-1",
        "check hgx-1",
        "undrain reasoning",
        "drain embeddings+fast+general+reasoning.1 on gw-1+gw-2",
        "change hgx-2+hgx-3",
        "check hgx-2+hgx-3",
        "undrain embeddings+fast+general+reasoning.1",
    ]
    assert run.nodes.log[-4:] == ["change gw-1", "check gw-1", "change gw-2", "check gw-2"]
    assert run.events()[:5] == ["drain-started", "drained", "wave-started", "checked", "wave-proven"]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("task", "role pool, task 'restart': exit 1"),
        ("difference", "differences remain"),
        ("check", "gpu.count UNKNOWN"),
        ("silence", "no complete answer after the change"),
    ],
)
def test_a_failed_node_stops_the_waves_after_it_and_its_servers_stay_drained(
    start: Callable[..., Run], what: str, reason: str
) -> None:
    run = start(hgx_1=what)
    with pytest.raises(ApplyFailed, match=reason) as caught:
        run.go()
    assert caught.value.message.startswith("hgx-1: ")
    assert "change hgx-2+hgx-3" not in run.nodes.log
    assert not [line for line in run.nodes.log if line.startswith("undrain")]


def test_within_the_budget_the_other_nodes_are_done_and_the_floor_still_holds(start: Callable[..., Run]) -> None:
    run = start(budget=1, hgx_3="task")
    with pytest.raises(ApplyFailed) as caught:
        run.go()
    assert "1 nodes failed, rollout.max_failed_nodes is 1: hgx-3: role pool" in caught.value.message
    assert "1 nodes were not changed: hgx-4: " in caught.value.message
    assert "because hgx-3 failed" in caught.value.message
    assert "undrain reasoning.1" in run.nodes.log, "the other nodes of the wave are completed"
    assert "change hgx-4" not in run.nodes.log, "general has no other replica left"
    assert run.nodes.log[-1] == "check gw-2"
    assert {"node-failed", "node-deferred"} <= set(run.events())


def test_settings_of_gateways_are_readable_before_the_first_drain(start: Callable[..., Run]) -> None:
    run = start()
    changed = run.runner.changes[0]
    more = [
        replace(changed, node=node, kind="attributes", name="/etc/sovctl", before={key: 0}, after={key: value})
        for node, key, value in (("gw-2", "gid", 963), ("gw-1", "type", "folder"), ("hgx-1", "mode", "0750"))
    ]
    run.runner.changes = [*run.runner.changes, *more]
    run.go()
    assert run.nodes.log[:2] == ["change gw-2", "drain reasoning on gw-1+gw-2"]
    assert run.events()[:2] == ["access-restored", "drain-started"]


def test_servers_that_an_interrupted_apply_left_drained_are_given_back_if_nothing_is_left_to_change(
    start: Callable[..., Run],
) -> None:
    left = {Server("reasoning", "reasoning"): "sovctl apply run-0"}
    run = start(left=left)
    run.runner.changes = [change for change in run.runner.changes if change.node != "hgx-1"]
    run.go()
    assert run.nodes.log[0] == "undrain reasoning"
    waiting = start(left=left)
    waiting.go()
    assert waiting.nodes.log[0].startswith("drain reasoning on")


def test_a_replica_that_failed_before_gets_traffic_after_its_repair(start: Callable[..., Run]) -> None:
    down = Server("reasoning", "reasoning")
    run = start(left={down: "sovctl apply run-0"})
    run.runner.rollout.serving -= {down}
    run.go()
    assert run.nodes.log[:3] == ["change hgx-1", "check hgx-1", "undrain reasoning"]


def test_a_server_that_an_operator_drained_counts_as_lost_and_stays_drained(start: Callable[..., Run]) -> None:
    (first, second) = (Server("general", "general"), Server("general", "general.1"))
    run = start(left={second: "maintenance"})
    assert {first, second} <= run.runner.rollout.serving
    with pytest.raises(ApplyFailed) as caught:
        run.go()
    assert "general 0/2 serving (floor 1), because general.1 is drained on the gateways" in caught.value.message
    assert not any("general" in line.replace("general.1", "") for line in run.nodes.log if line.startswith("drain"))
    assert not any("general.1" in line for line in run.nodes.log if line.startswith(("drain", "undrain")))
    assert "drained-by-operator" in run.events()
    assert "drained by an operator, and left so: general.1 (maintenance)" in [each.text for each in run.shown]


def test_no_wave_takes_the_last_server_while_an_interrupted_apply_left_the_other_one_drained(
    start: Callable[..., Run],
) -> None:
    run = start(left={Server("general", "general.1"): "sovctl apply run-0"})
    with pytest.raises(ApplyFailed) as caught:
        run.go()
    assert "hgx-3: general 0/2 serving (floor 1), because general.1 is drained" in caught.value.message
    assert any("general.1" in line for line in run.nodes.log if line.startswith("undrain")), "after its own wave"


def test_a_node_whose_checks_failed_is_checked_again_before_it_gets_traffic(start: Callable[..., Run]) -> None:
    def resumed(**broken: str) -> Run:
        run = start(left={Server("reasoning", "reasoning"): "sovctl apply run-0"}, **broken)
        run.runner.changes = [change for change in run.runner.changes if change.node != "hgx-1"]
        run.runner.unproven = {"hgx-1": ["pool"], "gone": ["pool"], "hgx-2": ["pool"]}
        return run

    passes = resumed()
    passes.go()
    assert passes.nodes.log[:2] == ["check hgx-1", "undrain reasoning"], "hgx-2 has changes, and its wave checks it"
    assert passes.events()[:3] == ["checked", "rechecked", "undrained"]
    assert unproven(read(passes.journal)) == {}
    fails = resumed(hgx_1="check")
    with pytest.raises(ApplyFailed, match="UNKNOWN: no answer"):
        fails.go()
    assert fails.nodes.log == ["check hgx-1"]
    assert fails.events() == ["checked", "node-failed"]


def test_the_journal_names_nodes_without_a_proof_over_several_runs(start: Callable[..., Run]) -> None:
    run = start(hgx_1="check")
    with pytest.raises(ApplyFailed):
        run.go()
    left = unproven(read(run.journal))
    assert left == {"hgx-1": ["pool"]}
    carried = {"event": UNPROVEN, "nodes": left}
    assert unproven([carried]) == left, "a later run that ends before its checks does not lose them"
    started = {"event": "wave-started", "changes": ["hgx-2/model/echo/x", "hgx-1/credential/pool"]}
    assert unproven([carried, started]) == {"hgx-1": ["credential", "pool"], "hgx-2": ["model"]}
    assert unproven([carried, {"event": "wave-proven", "nodes": ["hgx-1"]}]) == {}
