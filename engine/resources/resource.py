"""What a plan is made of: resources with an expected and an observed state, and the changes between the two.

States hold only plain values, so that they can be printed, hashed and compared. `None` as a state means: is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

State = Mapping[str, Any]
"""Plain values by name: str, int, float, bool, None, or a list of str."""

CREATED_BY_APPLY = "(created by apply)"
"""Stands in an expected state for a value that does not exist before apply makes it, such as a certificate."""


class Risk(StrEnum):
    """What a change can cost while it happens."""

    NONE = "none"
    SERVICE = "service restart"
    CONNECTION = "cuts connections"
    WORKLOAD = "stops a pool"


@dataclass(frozen=True)
class Desired:
    """What one thing on one node should be.

    Args:
        kind: one of `order.RESOURCE_TYPES`.
        name: unique within node and kind.
        state: the expected state, never empty; None for a thing that site.yaml no longer wants.
        why: for the person who reads the plan: where this comes from.
        variables: what the kind's Ansible role needs for it; may hold references to secrets, never secrets.
        risk: of changing it.
        minutes: how long the change takes, an estimate.
    """

    kind: str
    name: str
    state: State | None
    why: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    risk: Risk = Risk.NONE
    minutes: float = 0.1


class Verb(StrEnum):
    """What happens to a resource."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Change:
    """One difference on one node: the unit of a plan, of the journal and of `--resume`.

    Args:
        before: observed values of the keys that differ; None when the resource is not there.
        after: expected values of the same keys (all keys when it is not there); None when it must go.
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
        """Plain values, for the plan file."""
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
        """The change that `to_json` wrote.

        Raises:
            KeyError, ValueError, TypeError: it is not one.
        """
        fields = {key: value[key] for key in ("node", "kind", "name", "before", "after", "why", "minutes")}
        return cls(verb=Verb(value["verb"]), risk=Risk(value["risk"]), **fields)


def difference(node: str, desired: Desired, observed: State | None) -> Change | None:
    """The change that would turn `observed` into what is desired; None when they agree."""
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
        # What is not there yet serves nobody: creating it disturbs nothing, except a wall going up.
        risk=desired.risk if verb is not Verb.CREATE or desired.risk is Risk.CONNECTION else Risk.NONE,
        minutes=desired.minutes,
    )


def _sides(wanted: State | None, observed: State | None) -> tuple[Verb, State | None, State | None] | None:
    """What happens, with before and after; None when nothing has to."""
    if wanted is None:
        return None if observed is None else (Verb.DELETE, dict(observed), None)
    if observed is None:
        return Verb.CREATE, None, dict(wanted)
    keys = [key for key, value in wanted.items() if key not in observed or observed[key] != value]
    if not keys:
        return None
    return Verb.UPDATE, {key: observed.get(key) for key in keys}, {key: wanted[key] for key in keys}
