"""Record of a lock on a node, and the answers of the node. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NodeHolder:
    """A run that holds the lock of a node.

    Args:
        controller: first 16 hex digits of the SHA-256 of the controller's public plan key.
        host: name of the controller's machine.
        since: time of the run's start.
    """

    controller: str
    host: str
    site: str
    run: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"controller {self.controller} on {self.host} (process {self.pid}, site {self.site}, since {self.since})"


def parse_holder(value: Any) -> NodeHolder | None:
    """Return the holder in an answer; None if it has other fields."""
    try:
        return NodeHolder(**value)
    except TypeError:
        return None


def problem(output: str) -> str | None:
    """Return the reason for which a node's answer does not give the lock; None if it does."""
    try:
        answer = json.loads(output)
        state = answer["state"]
    except (ValueError, KeyError, TypeError):
        return "the lock script did not answer; check python3 on the node"
    if state == "held":
        return f"locked by {parse_holder(answer.get('holder')) or 'another controller'}"
    if state == "running":
        return f"a step of an earlier apply still runs: {', '.join(map(str, answer.get('programs', [])))}"
    return None if state == "taken" else f"unexpected state {state!r}"


def broken(output: str) -> NodeHolder | None:
    """Return the other controller whose lock was broken; None without one."""
    return parse_holder(json.loads(output).get("broken") or {})
