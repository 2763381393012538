"""Where may a request go? A table over what was found in it; pure.

| found | answer |
|---|---|
| a kind whose action is `block` | refused; on a route without a cloud only when a row names the route |
| the route names no cloud | stays on-prem, whatever is in it |
| something that can't be inspected or rewritten, where policy blocks such | refused |
| a kind whose action is `on-prem` | stays on-prem |
| anything else that can't be inspected or rewritten | stays on-prem |
| a language in which this site doesn't accept the finding of names, or none that can be told | stays on-prem |
| kinds whose action is `tokenize` or `mask` | may leave, as tokens or as masks that never come back |
| kinds whose action is `allow`, or nothing | may leave |

Every row that applies gives a reason; the first one that forbids decides. What comes after (`route`) may only narrow.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from ..inspection.inspector import Inspection
from ..settings import Action
from .permissions import Permissions


class Verdict(StrEnum):
    """What policy allows, from nothing to all."""

    BLOCK = "block"
    STAY = "stay"
    LEAVE = "leave"

    @property
    def may_leave(self) -> bool:
        """True when tokenized text may go to a cloud."""
        return self is Verdict.LEAVE


class Reason(StrEnum):
    """Why; `explain` and the audit record show these, with what they are about after a colon."""

    NO_CLOUD = "no-cloud"
    KIND_BLOCKED = "kind-blocked"
    KIND_ON_PREM = "kind-on-prem"
    OBSTACLE = "obstacle"
    OBSTACLE_BLOCKED = "obstacle-blocked"
    LANGUAGE = "language"
    TOKENIZED = "tokenized"
    MASKED = "masked"
    CLEAN = "clean"
    # Found out later, on the way out.
    DETECTOR_FAILED = "detector-failed"
    SECOND_LOOK = "second-look"
    VAULT_FAILED = "vault-failed"

    def about(self, what: str) -> str:
        """The reason with what it is about, such as `language:und`."""
        return f"{self.value}:{what}"


@dataclass(frozen=True, slots=True)
class Permit:
    """What policy says of one request."""

    verdict: Verdict
    reasons: tuple[str, ...]
    """In the order of the table; never empty."""


def decide(inspection: Inspection, permissions: Permissions) -> Permit:
    """What policy allows for a request with this in it."""
    return _permit(frozenset(inspection.found), inspection.languages, inspection.obstacles, permissions)


@lru_cache(1024)  # no text is in these, and most requests of a site are alike
def _permit(
    found: frozenset[tuple[EntityType, str]],
    languages: frozenset[str],
    obstacles: frozenset[Obstacle],
    permissions: Permissions,
) -> Permit:
    by_rule = permissions.by_rule
    by_action: dict[Action, set[str]] = {}
    for entity_type, rule in found:
        action = by_rule.get((entity_type, rule)) if by_rule else None
        entity = entity_type if action is None else f"{entity_type}/{rule}"
        by_action.setdefault(action or permissions.by_entity_type[entity_type], set()).add(entity)
    if blocked := by_action.get(Action.BLOCK):
        return Permit(Verdict.BLOCK, _reasons(Reason.KIND_BLOCKED, blocked))
    if not permissions.has_cloud:
        return Permit(Verdict.STAY, (Reason.NO_CLOUD.value,))
    if refused := obstacles & permissions.blocked_obstacles:
        return Permit(Verdict.BLOCK, _reasons(Reason.OBSTACLE_BLOCKED, refused))
    staying = _reasons(Reason.KIND_ON_PREM, by_action.get(Action.ON_PREM, ()))
    staying += _reasons(Reason.OBSTACLE, obstacles)
    if permissions.by_entity_type[EntityType.PERSON] is not Action.ALLOW:
        staying += _reasons(Reason.LANGUAGE, languages - permissions.name_languages)
    if staying:
        return Permit(Verdict.STAY, staying)
    leaving = _reasons(Reason.TOKENIZED, by_action.get(Action.TOKENIZE, ()))
    leaving += _reasons(Reason.MASKED, by_action.get(Action.MASK, ()))
    return Permit(Verdict.LEAVE, leaving or (Reason.CLEAN.value,))


def _reasons(reason: Reason, about: Collection[str]) -> tuple[str, ...]:
    if not about:
        return ()
    start = f"{reason}:"
    return tuple([start + what for what in sorted(about)])
