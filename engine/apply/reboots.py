"""Reboots during an apply: not of the controller's own host, proven by the boot id, awaited after an interruption.

The role `reboot` does the reboot. It stops the pools of the node first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from sovctl.support.errors import InputError, NodeUnreachable

from ..facts.node import NodeFacts
from ..facts.running import running
from ..plan.reboots import KIND
from ..resources.resource import Change
from ..resources.services.reboot import AC_CYCLE_TIMEOUT_S, REBOOT_TIMEOUT_S, RebootKind

PAUSE_S = 5.0
"""Seconds between two observations of a node that starts."""
NEW_BOOT_ID = frozenset({RebootKind.REBOOT, RebootKind.AC_CYCLE})
"""Actions after which the boot id of the node differs."""

T = TypeVar("T")
Observe = Callable[[], dict[str, NodeFacts]]


def refuse_own_host(changes: Iterable[Change], facts: Mapping[str, NodeFacts], *, boot_id: str) -> None:
    """Reject a reboot of the host on which this process runs.

    Args:
        boot_id: of the controller.

    Raises:
        InputError: a node to reboot has the boot id of the controller.
    """
    own = [each.node for each in changes if each.kind == KIND and running(facts[each.node]).boot_id == boot_id]
    if own:
        raise InputError(
            f"the plan reboots {own[0]}, and this node is the controller's own host",
            hint=f"no node was changed; reboot {own[0]} yourself, then plan again: sovctl plan",
        )


def without_new_boot_id(
    changes: Iterable[Change], before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]
) -> list[str]:
    """Return the names of nodes that were to reboot and have their former boot id.

    Args:
        after: facts of the nodes of the changes.
    """
    nodes = [each.node for each in changes if each.kind == KIND and RebootKind(each.name) in NEW_BOOT_ID]
    return [node for node in nodes if running(before[node]).boot_id == running(after[node]).boot_id]


def interrupted(events: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the nodes whose reboot began and whose wave was not proven, from the events of a journal."""
    found: set[str] = set()
    for event in events:
        if event["event"] == "role-started" and event.get("role") == KIND:
            found.add(str(event["node"]))
        if event["event"] == "wave-proven":
            found.difference_update(event["nodes"])
    return frozenset(found)


class NodesThatStart:
    """Waits for nodes whose reboot was interrupted, at most for the time limit of a reboot.

    Args:
        nodes: names; without one nothing is awaited.
        report: called with progress.
    """

    def __init__(
        self,
        nodes: Collection[str],
        *,
        report: Callable[[str], None],
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes, self._report, self._pause, self._clock = nodes, report, pause, clock
        self._until = clock() + REBOOT_TIMEOUT_S

    def reach(self, action: Callable[[], T]) -> T:
        """Return the result of an action, which is repeated as long as a node does not answer.

        Raises:
            NodeUnreachable: a node does not answer, also not within the time limit.
        """
        while True:
            try:
                return action()
            except NodeUnreachable:
                if not self._nodes or self._clock() > self._until:
                    raise
            self._wait()

    def observe(self, observe: Observe) -> dict[str, NodeFacts]:
        """Return the facts of all nodes, after the nodes have started.

        Raises:
            NodeUnreachable: a node does not answer, also not within the time limit.
        """
        while True:
            facts = self.reach(observe)
            starting = [name for name in self._nodes if name in facts and not running(facts[name]).has_started]
            if not starting or self._clock() > self._until:
                return facts
            self._wait()

    def _wait(self) -> None:
        self._report(f"waiting for {', '.join(sorted(self._nodes))} to start")
        self._pause(PAUSE_S)


def progress_text(items: Iterable[Mapping[str, Any]]) -> str:
    """Return the text for the operator when the role `reboot` starts on a node."""
    kind = RebootKind(next(iter(items))["name"])
    if kind is RebootKind.AC_CYCLE:
        minutes = AC_CYCLE_TIMEOUT_S // 60
        return f"switch the power of this node off and on; apply waits at most {minutes} min"
    return {RebootKind.REBOOT: "reboot", RebootKind.DRIVER_RELOAD: "reload of the driver"}[kind]
