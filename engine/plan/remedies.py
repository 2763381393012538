"""Changes of a remedy: the action of the ladder on one node, and the restarts that it causes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sovctl.support.errors import InputError

from ..facts.node import NodeFacts
from ..lifecycle.remedies import Remedy
from ..resources.context import Context
from ..resources.resource import Change
from ..resources.services.reboot import RebootKind
from .build import desired_on, ranks_elsewhere, restart
from .observed_risk import with_observed_risk
from .reboots import KIND, RESTARTED_BY, reboot_change

ACTIONS: Mapping[Remedy, RebootKind | None] = {
    Remedy.RESTART_APPLICATION: None,
    Remedy.RESET_GPU: RebootKind.DRIVER_RELOAD,
    Remedy.REBOOT: RebootKind.REBOOT,
    Remedy.AC_CYCLE: RebootKind.AC_CYCLE,
}
"""Action of a remedy that sovctl carries out; None: only restarts. A reload of the driver resets all GPUs of the node,
because GPUs with NVLink must be reset together (nvidia-smi(1), --gpu-reset)."""
BY_HAND: Mapping[Remedy, str] = {
    Remedy.AC_CYCLE: "the operator of the data centre switches the power off and on through the BMC while sovctl waits",
    Remedy.ISOLATE: "sovctl quarantines the node; its vendor examines or replaces it",
}
"""Part of a remedy that people do."""


def remedy_changes(context: Context, facts: Mapping[str, NodeFacts], node: str, remedy: Remedy) -> list[Change]:
    """Return the changes of a remedy, in the order of application.

    Args:
        facts: of the node, and of all nodes that share a replica with it.

    Raises:
        InputError: the remedy has no action on this node.
    """
    action, wanted = ACTIONS[remedy], desired_on(context, context.spec.node(node), facts[node])
    why = f"remedy {remedy}"
    found = []
    if action is not None:
        actions = [each for each in wanted if (each.kind, each.name) == (KIND, action.value)]
        found += [reboot_change(facts[node], each, action, [why]) for each in actions]
    restarted = {"pool"} if action is None else RESTARTED_BY[action]
    found += [restart(node, each, why=why) for each in wanted if each.kind in restarted and each.state is not None]
    if not found:
        raise InputError(f"{remedy} has no effect on {node}: no server and no GPU", where="--remedy")
    found += ranks_elsewhere(context, facts, found)
    return list(with_observed_risk(context, found, facts))
