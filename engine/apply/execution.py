"""Changes and observes nodes. `Executor` is the interface; a simulation of many nodes implements it too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from sovctl.support.errors import SovctlError
from sovctl.support.operator_name import operator_name

from ..facts.node import NodeFacts
from ..resources.context import Context
from ..resources.software.tree import TreeRecord
from ..site import tree_records
from ..site.retirement import Append, Cause, retire
from ..site.site import Site
from ..spec import Node
from . import ansible
from .node_lock.locks import NodeLocks
from .progress import Follower
from .roles import roles_for


class Executor(Protocol):
    """The I/O of a wave."""

    def change(self, ids: Mapping[str, Collection[str]]) -> list[ansible.Failure]:
        """Apply changes and return the failures. A failed node does not stop the other nodes of the wave.

        Args:
            ids: of changes, by node.
        """

    def observe(self, nodes: Collection[str]) -> dict[str, NodeFacts]:
        """Return new facts of nodes, by name; nodes without an answer are absent."""

    def record(self, trees: Mapping[tuple[str, str], TreeRecord]) -> None:
        """Store the records of trees that were built, by (node, `tree_id`)."""

    def retire(self, node: Node) -> None:
        """Revoke the certificate of a cleaned node that site.yaml no longer contains, and delete its records."""


class AnsibleExecutor:
    """Runs Ansible with the roles of the planned changes, and gathers facts over ssh.

    Args:
        facts: of all nodes when the apply started; they select the orphans to remove.
        wheel: path of the sovctl wheel for environments.
        lock: descriptor of the site's lock.
        locks: of the nodes.
        append: appends records to the site's ledger.
    """

    def __init__(
        self,
        site: Site,
        context: Context,
        facts: Mapping[str, NodeFacts],
        *,
        wheel: str,
        lock: int,
        locks: NodeLocks,
        follow: Follower,
        append: Append,
    ) -> None:
        self._site, self._context, self._facts = site, context, facts
        self._reachable = site.reachable
        self._wheel, self._lock, self._locks, self._follow, self._append = wheel, lock, locks, follow, append

    def change(self, ids: Mapping[str, Collection[str]]) -> list[ansible.Failure]:
        """Run the roles of the changes on all nodes concurrently."""
        silent = self._locks.renew(ids)
        failures = [
            ansible.Failure(node, "", "lock the node", reason or "no answer") for node, reason in silent.items()
        ]
        roles = {
            node: roles_for(self._site, self._context, node, set(of_node), self._facts[node], self._wheel)
            for node, of_node in ids.items()
            if node not in silent
        }
        if not roles:
            return failures
        inventory = ansible.inventory(self._reachable, self._site.folder, roles)
        return failures + ansible.run(
            inventory,
            self._site.state.root / "run",
            lock=self._lock,
            on_event=lambda event: self._follow(event, roles.get(event.node, {})),
        )

    def observe(self, nodes: Collection[str]) -> dict[str, NodeFacts]:
        """Gather new facts of nodes."""
        try:
            found, _ = self._site.observe_reachable(self._context, nodes, report=lambda _: None)
        except SovctlError:  # no node of the wave answers with all measurements
            return {}
        return found

    def record(self, trees: Mapping[tuple[str, str], TreeRecord]) -> None:
        """Write the records to the state folder."""
        tree_records.save(self._site.state.trees, trees)

    def retire(self, node: Node) -> None:
        """Retire the node on this controller."""
        retire(self._site, node, Cause("cleaned", f"run {self._locks.run_id}", operator_name()), self._append)
