"""Progress of an apply, for the operator and for the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import ansible
from .journal import Journal
from .reboots import progress_text


@dataclass(frozen=True)
class Progress:
    """Progress for the operator: a wave began, a role started on a node, or a wave was observed again."""

    kind: str
    """`access`, `wave`, `deferred`, `drained`, `role`, `proven`, `failed`."""
    node: str
    text: str


Report = Callable[[Progress], None]


class Follower:
    """Writes task events to the journal, and reports one line for each role and node."""

    def __init__(self, journal: Journal, report: Report) -> None:
        self._journal, self._report = journal, report
        self._current: dict[str, str] = {}

    def __call__(self, event: ansible.Event, roles: Mapping[str, ansible.RoleVariables]) -> None:
        """Record one event.

        Args:
            roles: of the event's node.
        """
        if event.event in ("failed", "unreachable"):
            self._journal.write("task-failed", node=event.node, role=event.role, task=event.task)
            return
        before = self._current.get(event.node)
        if event.event == "start" and event.role and event.role != before:
            self._current[event.node] = event.role
            count = sum(map(len, roles.get(event.role, {}).values()))
            self._journal.write("role-started", node=event.node, role=event.role, items=count)
            items = roles.get(event.role, {}).get("reboot_items", [])
            self._report(Progress("role", event.node, progress_text(items) if items else f"{event.role} ({count})"))
