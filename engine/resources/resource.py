"""Resources with an expected and an observed state, and the changes between the two.

States contain only plain values, so that they can be printed, hashed and compared. A state of None means absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

State = Mapping[str, Any]
"""Plain values by name: str, int, float, bool, None, or a list of str."""

CREATED_BY_APPLY = "(created by apply)"
"""Placeholder in an expected state for a value that apply creates, such as a certificate."""


class Risk(StrEnum):
    """Possible interruption by a change."""

    NONE = "none"
    SERVICE = "service restart"
    CONNECTION = "cuts connections"
    WORKLOAD = "stops a pool"
    REBOOT = "reboots the node"


@dataclass(frozen=True)
class Desired:
    """The expected state of one resource on one node.

    Args:
        kind: name of the resource type.
        name: unique within node and resource type.
        state: not empty; None for an orphan, which is to be removed.
        why: reason, for the reader of the plan.
        variables: of the Ansible role; paths of secrets, never secrets.
        risk: of a change.
        minutes: estimated duration of a change.
        findings: differences that `sovctl verify` found, and a plan cannot observe.
    """

    kind: str
    name: str
    state: State | None
    why: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    risk: Risk = Risk.NONE
    minutes: float = 0.1
    findings: tuple[str, ...] = ()


class Verb(StrEnum):
    """Action on a resource."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Change:
    """One difference on one node; plans, the journal and `--resume` consist of changes.

    Args:
        before: observed values of the keys that differ; None if the resource is absent.
        after: expected values of the same keys, or of all keys if the resource is absent; None to remove it.
    """

    node: str
    kind: str
    name: str
    verb: Verb
    before: State | None
    after: State | None
    why: str
    risk: Risk
    minutes: float

    @property
    def id(self) -> str:
        """`node/kind/name`, unique in a plan."""
        return f"{self.node}/{self.kind}/{self.name}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the plan file."""
        return {
            "id": self.id,
            "node": self.node,
            "kind": self.kind,
            "name": self.name,
            "verb": self.verb.value,
            "before": None if self.before is None else dict(self.before),
            "after": None if self.after is None else dict(self.after),
            "why": self.why,
            "risk": self.risk.value,
            "minutes": self.minutes,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Change:
        """Return the change that `to_json` wrote.

        Raises:
            KeyError, ValueError, TypeError: `value` is not a change.
        """
        fields = {key: value[key] for key in ("node", "kind", "name", "before", "after", "why", "minutes")}
        return cls(verb=Verb(value["verb"]), risk=Risk(value["risk"]), **fields)


def difference(node: str, desired: Desired, observed: State | None) -> Change | None:
    """Return the change from `observed` to the expected state; None if they are equal."""
    sides = _sides(desired.state, observed)
    if sides is None:
        return None
    verb, before, after = sides
    return Change(
        node=node,
        kind=desired.kind,
        name=desired.name,
        verb=verb,
        before=before,
        after=after,
        why=desired.why,
        # Creating a resource does not interrupt service, except for the firewall.
        risk=desired.risk if verb is not Verb.CREATE or desired.risk is Risk.CONNECTION else Risk.NONE,
        minutes=desired.minutes,
    )


def _sides(wanted: State | None, observed: State | None) -> tuple[Verb, State | None, State | None] | None:
    """Return the action with the states before and after; None without a difference."""
    if wanted is None:
        return None if observed is None else (Verb.DELETE, dict(observed), None)
    if observed is None:
        return Verb.CREATE, None, dict(wanted)
    keys = [key for key, value in wanted.items() if key not in observed or observed[key] != value]
    if not keys:
        return None
    return Verb.UPDATE, {key: observed.get(key) for key in keys}, {key: wanted[key] for key in keys}
