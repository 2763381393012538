"""Reboots during an apply: not of the own host, with a new boot id, and awaited by --resume."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from planned_nodes import BOOT_ID, answer, empty

from sovctl.engine.apply.reboots import (
    NodesThatStart,
    interrupted,
    progress_text,
    refuse_own_host,
    without_new_boot_id,
)
from sovctl.engine.facts import running
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.resources.resource import Change, Risk, Verb
from sovctl.support.errors import InputError, NodeUnreachable

OTHER_ID = "0e7d3c39-1a2b-4c3d-8e5f-60718293a4b5"


def reboot(node: str, name: str = "node") -> Change:
    return Change(node, "reboot", name, Verb.UPDATE, {"causes": ["x"]}, {"causes": []}, "x", Risk.REBOOT, 1.0)


def node(name: str, *, boot_id: str = BOOT_ID, state: str = "running") -> NodeFacts:
    facts = empty(name)
    texts = {**facts.texts, running.BOOT_ID: f"{boot_id}\n"}
    return replace(facts, texts=texts, answers={**facts.answers, "system": answer(f"{state}\n", state != "running")})


def test_the_controllers_own_host_is_not_rebooted() -> None:
    facts = {"n1": node("n1"), "n2": node("n2", boot_id=OTHER_ID)}
    refuse_own_host([reboot("n2")], facts, boot_id=BOOT_ID)
    with pytest.raises(InputError, match="n1, and this node is the controller's own host"):
        refuse_own_host([reboot("n2"), reboot("n1")], facts, boot_id=BOOT_ID)


@pytest.mark.parametrize(("name", "stayed"), [("node", ["n1"]), ("ac-cycle", ["n1"]), ("driver", [])])
def test_a_boot_id_that_stays_is_found(name: str, stayed: list[str]) -> None:
    before, after = {"n1": node("n1")}, {"n1": node("n1")}
    assert without_new_boot_id([reboot("n1", name)], before, after) == stayed
    assert without_new_boot_id([reboot("n1", name)], before, {"n1": node("n1", boot_id=OTHER_ID)}) == []


def started(name: str, role: str = "reboot") -> dict[str, Any]:
    return {"event": "role-started", "node": name, "role": role}


PROVEN = {"event": "wave-proven", "nodes": ["n1"]}


@pytest.mark.parametrize(
    ("events", "nodes"),
    [
        ([], set()),
        ([started("n1", "package")], set()),
        ([started("n1")], {"n1"}),
        ([started("n1"), started("n2"), PROVEN], {"n2"}),
        ([started("n1"), PROVEN], set()),
        ([started("n1"), {"event": "interrupted"}], {"n1"}),
        ([started("n1"), {"event": "failed", "message": "x"}], {"n1"}),
    ],
)
def test_an_interrupted_reboot_is_in_the_journal(events: list[dict[str, Any]], nodes: set[str]) -> None:
    assert interrupted(events) == nodes


class Node:
    """n1 in these states at one observation after the other; None: it does not answer."""

    def __init__(self, *states: str | None) -> None:
        self.states = list(states)
        self.waited_s = 0.0

    def observe(self) -> dict[str, NodeFacts]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state is None:
            raise NodeUnreachable("n1 does not answer")
        return {"n1": node("n1", state=state)}

    def pause(self, seconds: float) -> None:
        self.waited_s += seconds


def observed(machine: Node, nodes: set[str]) -> dict[str, NodeFacts]:
    starting = NodesThatStart(nodes, report=lambda _: None, pause=machine.pause, clock=lambda: machine.waited_s)
    return starting.observe(machine.observe)


def test_resume_waits_for_a_node_that_starts() -> None:
    machine = Node(None, None, "starting", "running")
    assert running.running(observed(machine, {"n1"})["n1"]).has_started
    assert machine.waited_s == 15.0


def test_without_an_interrupted_reboot_nothing_is_awaited() -> None:
    with pytest.raises(NodeUnreachable):
        observed(Node(None, "running"), set())
    assert not running.running(observed(Node("starting"), set())["n1"]).has_started


def test_a_node_that_does_not_come_back_is_an_error_after_the_time_limit() -> None:
    machine = Node(None)
    with pytest.raises(NodeUnreachable):
        observed(machine, {"n1"})
    assert 1800 <= machine.waited_s <= 1810


@pytest.mark.parametrize(
    ("name", "words"), [("node", "reboot"), ("driver", "reload of the driver"), ("ac-cycle", "at most 120 min")]
)
def test_the_operator_reads_what_happens_to_the_node(name: str, words: str) -> None:
    assert words in progress_text([{"name": name}])
