"""The changes of a remedy: its action, the restarts that it causes, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.lifecycle.remedies import LADDER, Remedy
from sovctl.engine.plan.remedies import ACTIONS, BY_HAND, remedy_changes
from sovctl.engine.plan.serving import Serving
from sovctl.engine.plan.waves import waves
from sovctl.support.errors import InputError

PRESET = "closed-perimeter"


def changes(node: str, remedy: Remedy) -> list[str]:
    facts, _ = planned(PRESET)
    return [change.id for change in remedy_changes(context(PRESET), facts, node, remedy)]


def test_every_remedy_is_carried_out_or_done_by_hand() -> None:
    assert {*ACTIONS, *BY_HAND} == set(LADDER)


@pytest.mark.parametrize(
    ("remedy", "action"),
    [
        (Remedy.RESTART_APPLICATION, []),
        (Remedy.RESET_GPU, ["hgx-2/reboot/driver"]),
        (Remedy.REBOOT, ["hgx-2/reboot/node"]),
        (Remedy.AC_CYCLE, ["hgx-2/reboot/ac-cycle"]),
    ],
)
def test_a_remedy_restarts_the_pools_of_its_node(remedy: Remedy, action: list[str]) -> None:
    site = context(PRESET)
    pools = {f"{name}/pool/{server.name}" for name in ("hgx-2",) for server in Serving(site).on_node[name]}
    found = changes("hgx-2", remedy)
    assert found[: len(action)] == action
    assert pools <= set(found)
    assert {each.split("/")[1] for each in found} <= {"reboot", "pool"}


def test_a_reboot_of_a_gateway_node_restarts_its_gateway() -> None:
    assert changes("gw-1", Remedy.REBOOT) == ["gw-1/reboot/node", "gw-1/gateway/gateway"]


@pytest.mark.parametrize("remedy", [Remedy.RESTART_APPLICATION, Remedy.RESET_GPU])
def test_a_remedy_without_effect_is_an_error(remedy: Remedy) -> None:
    with pytest.raises(InputError, match="has no effect on gw-1"):
        changes("gw-1", remedy)


def test_an_isolated_node_reboots_without_its_pools() -> None:
    facts, _ = planned(PRESET)
    site = replace(context(PRESET), unavailable=frozenset({"hgx-2"}))
    assert [change.id for change in remedy_changes(site, facts, "hgx-2", Remedy.REBOOT)] == ["hgx-2/reboot/node"]


def test_floors_apply_to_the_waves_of_a_remedy() -> None:
    facts, _ = planned(PRESET)
    site = context(PRESET)
    found = remedy_changes(site, facts, "hgx-2", Remedy.REBOOT)
    [wave] = waves(site, found, Serving(site).now(facts))
    assert {each.service for each in wave.capacity} == {each.service for each in Serving(site).on_node["hgx-2"]}
