"""A replica stops only after its drain, and gets traffic only after its answer; nothing else counts as confirmed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from scaled_sites import write_site

from sovctl.compliance.signing import SigningKey
from sovctl.engine.apply.availability.drain import Drained
from sovctl.engine.apply.remote import SSH_FAILED, Answer
from sovctl.engine.placement import Rank, Replica
from sovctl.engine.plan.serving import Server
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.site.site import Site
from sovctl.engine.standing_plan.actuator import NodeActuator
from sovctl.support.errors import InputError, SovctlError

CHAT = ReplicaId("chat", 1)
SERVER = Server("chat", "chat.1")
UNIT = "sovctl-pool-chat.1.service"


class SimulatedNode:
    """One node and one gateway: a unit, its probe, and the drain; `log` has all calls in order.

    Args:
        running: requests that still run after the drain.
        fails: first word of a command that fails.
        hangs: whether the unit stays active after a stop.
    """

    def __init__(self, *, running: int = 0, is_unable: bool = False, fails: str = "", hangs: bool = False) -> None:
        self.running, self.is_unable, self.fails, self.hangs = running, is_unable, fails, hangs
        self.log: list[str] = []
        self.is_active, self.is_drained = True, False

    def drain(self, servers: Collection[Server], *, gateways: Collection[str]) -> Drained:
        self.log.append("drain")
        self.is_drained = True
        running = {SERVER: self.running} if self.running else {}
        return Drained(frozenset(servers), running, tuple(gateways) if self.is_unable else ())

    def undrain(self, servers: Collection[Server], *, gateways: Collection[str]) -> None:
        assert list(servers) == [SERVER]
        self.log.append("undrain")
        self.is_drained = False

    def drained(self, *, gateways: Collection[str]) -> dict[Server, str]:
        return {}

    def run(self, node: str, argv: Sequence[str], timeout_s: float) -> Answer:
        assert node == "n2"
        words = " ".join(argv).replace("/usr/local/lib/sovctl/", "")
        self.log.append(words)
        if self.fails and words.startswith(self.fails):
            return Answer(SSH_FAILED, "", f"no result after {timeout_s:.0f} s")
        if words.startswith("systemctl stop"):
            assert self.is_drained
            self.is_active = self.hangs
        if words == f"systemctl start {UNIT}":
            self.is_active = True
        state = "active" if self.is_active else "inactive"
        return Answer(0, f"{state}\n" if "ActiveState" in words else "", "")


def actuator(node: SimulatedNode) -> NodeActuator:
    replica = Replica("chat", 1, (Rank("n2", (0,), 0),), 8000)
    return NodeActuator({CHAT: replica}, gateways=["s1"], drainer=node, run=node.run)


def test_a_release_drains_stops_and_requires_an_inactive_unit() -> None:
    node = SimulatedNode()
    for _ in range(2):  # the next run repeats a step that a crash interrupted
        actuator(node).release(CHAT)
        assert (node.is_active, node.is_drained) == (False, True)
    assert node.log[:3] == [
        "drain",
        f"systemctl stop sovctl-probe-chat.1.timer {UNIT}",
        f"systemctl show --property=ActiveState --value {UNIT}",
    ]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (SimulatedNode(running=2), "2 requests still run"),
        (SimulatedNode(is_unable=True), "a gateway cannot drain"),
    ],
)
def test_a_replica_without_a_confirmed_drain_keeps_running(node: SimulatedNode, message: str) -> None:
    with pytest.raises(SovctlError, match=message):
        actuator(node).release(CHAT)
    assert (node.log, node.is_active) == (["drain"], True)


@pytest.mark.parametrize("node", [SimulatedNode(fails="systemctl stop"), SimulatedNode(fails="systemctl show")])
def test_a_release_without_an_answer_of_the_node_is_not_confirmed(node: SimulatedNode) -> None:
    with pytest.raises(SovctlError, match="no result after"):
        actuator(node).release(CHAT)


def test_a_unit_that_stays_active_is_not_released() -> None:
    with pytest.raises(SovctlError, match="expected an inactive unit, got active"):
        actuator(SimulatedNode(hangs=True)).release(CHAT)


def test_a_start_waits_for_an_answer_before_traffic() -> None:
    node = SimulatedNode()
    actuator(node).release(CHAT)
    node.log.clear()
    actuator(node).start(CHAT)
    assert [each.split(" ")[0] for each in node.log] == ["systemctl", "probe", "systemctl", "undrain"]
    assert (node.is_active, node.is_drained) == (True, False)


@pytest.mark.parametrize("fails", ["probe", "systemctl start"])
def test_a_replica_that_does_not_answer_gets_no_traffic(fails: str) -> None:
    node = SimulatedNode(fails=fails)
    with pytest.raises(SovctlError, match="no result after"):
        actuator(node).start(CHAT)
    assert "undrain" not in node.log


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        (
            [
                {"pool": "chat", "minimum_replicas": 2, "maximum_replicas": 9},
                {"pool": "code", "minimum_replicas": 1, "maximum_replicas": 4},
            ],
            "expected at most 8, the deployed",
        ),
        ([{"pool": "chat", "minimum_replicas": 2, "maximum_replicas": 8, "idle": "asleep"}], "stops and starts"),
    ],
)
def test_replicas_that_no_apply_deploys_and_sleeping_ones_are_refused(
    tmp_path: Path, pools: list[dict[str, object]], message: str
) -> None:
    path = write_site(tmp_path, approvers=[SigningKey.generate().public.vkey("officer.example")], pools=pools)
    with pytest.raises(InputError, match=message):
        NodeActuator.of(Site.open(path, touches_nodes=False))
