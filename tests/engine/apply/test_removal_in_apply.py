"""A wave retires a removed node if only its registration is left; otherwise the node fails and stays registered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from real_plays import play
from removed_node import GONE, PATHS, facts_with, remains, site_without_it, used

from sovctl.engine.apply.ansible import Failure
from sovctl.engine.apply.availability.drain import Drained
from sovctl.engine.apply.availability.gate import GateResult
from sovctl.engine.apply.availability.rollout import Rollout
from sovctl.engine.apply.journal import Journal, read
from sovctl.engine.apply.outcome import ApplyFailed
from sovctl.engine.apply.roles import roles_for
from sovctl.engine.apply.wave import WaveRunner
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.plan.scope import EVERYTHING
from sovctl.engine.plan.serving import Server, Serving
from sovctl.engine.plan.waves import waves
from sovctl.engine.resources.context import ROLES, Context
from sovctl.engine.site.site import Site
from sovctl.engine.spec import Node


@pytest.fixture
def site() -> Context:
    return site_without_it()


@dataclass
class Nodes:
    """Executor, drainer and gate over facts in memory; `after` are the facts of the removed node after its change."""

    facts: dict[str, NodeFacts]
    after: NodeFacts
    log: list[str] = field(default_factory=list)

    def change(self, ids: Mapping[str, Collection[str]]) -> list[Failure]:
        self.log += [f"change {node}" for node in ids]
        self.facts[GONE.name] = self.after
        return []

    def observe(self, nodes: Collection[str]) -> dict[str, NodeFacts]:
        return {node: self.facts[node] for node in nodes}

    def record(self, trees: object) -> None:
        raise AssertionError(trees)

    def retire(self, node: Node) -> None:
        self.log.append(f"retire {node.name}")

    def check(self, kinds: Mapping[str, Collection[str]]) -> GateResult:
        self.log += [f"check {node}" for node in kinds]
        return GateResult({})

    def drain(self, servers: Collection[Server], *, gateways: Collection[str]) -> Drained:
        raise AssertionError(servers, gateways)

    def undrain(self, servers: Collection[Server], *, gateways: Collection[str]) -> None:
        raise AssertionError(servers, gateways)

    def drained(self, *, gateways: Collection[str]) -> dict[Server, str]:
        assert gateways
        return {}


def run(site: Context, facts: dict[str, NodeFacts], after: NodeFacts, folder: Path) -> tuple[list[str], list[str]]:
    """Return the calls and the events of an apply of the removal."""
    nodes, serving = Nodes(dict(facts), after), Serving(site)
    rollout = Rollout(serving, serving.now(facts), (), 0)
    wanted = changes(site, facts)
    with Journal(folder, "run-1", "ab" * 32) as journal:
        runner = WaveRunner(
            site, wanted, dict(facts), EVERYTHING, rollout, nodes, nodes, nodes, journal, lambda _step: None
        )
        try:
            runner.run_all(waves(site, wanted, serving.now(facts)))
        except ApplyFailed as error:
            nodes.log.append(error.message)
    return nodes.log, [event["event"] for event in read(journal.path)]


def test_a_clean_node_is_retired_before_its_wave_is_proven(site: Context, tmp_path: Path) -> None:
    log, events = run(site, facts_with(used()), remains({}), tmp_path)
    assert log == [f"change {GONE.name}", f"retire {GONE.name}"]
    assert events == ["wave-started", "node-removed", "wave-proven"]


def test_a_node_with_remains_is_not_retired(site: Context, tmp_path: Path) -> None:
    log, events = run(site, facts_with(used()), remains({"models": ["/srv/sovctl"]}), tmp_path)
    assert log[0] == f"change {GONE.name}"
    assert "old-1/removal/models" in log[-1]
    assert "node-removed" not in events


@pytest.mark.parametrize("is_clean", [False, True])
def test_the_role_accepts_the_variables_of_a_removal(
    site: Context, make_site: Callable[[str], Site], tmp_path: Path, *, is_clean: bool
) -> None:
    facts = remains({}) if is_clean else used()
    ids = {change.id for change in changes(site, {GONE.name: facts})}
    roles = roles_for(make_site("lab"), site, GONE.name, ids, facts, "")
    assert list(roles) == ["removal"]
    names = [each["name"] for each in roles["removal"]["removal_orphans"]]
    assert set(names) == ({"registration"} if is_clean else {*PATHS, "accounts", "registration"})
    spec = yaml.safe_load((ROLES / "removal" / "meta" / "argument_specs.yml").read_text())
    module = {
        "argument_spec": spec["argument_specs"]["main"]["options"],
        "provided_arguments": dict(roles["removal"]),
    }
    assert play(tmp_path, [{"name": "removal", "ansible.builtin.validate_argument_spec": module}]) == []
