"""Decides whether a request may leave, from its inspection and the permissions. Pure.

| contents | decision |
|---|---|
| an entity type whose action is `block` | refused; on a route without a cloud only if a row names the route |
| any, on a route without a cloud | stays on-prem |
| a content that can't be inspected or rewritten, if policy blocks it | refused |
| an entity type whose action is `on-prem` | stays on-prem |
| any other content that can't be inspected or rewritten | stays on-prem |
| a language without accepted name detection at this site, or an undetermined one | stays on-prem |
| entity types whose action is `tokenize` or `mask` | may leave, as tokens, or as masks that are not restored |
| entity types whose action is `allow`, or no identifiers | may leave |

Every row that applies adds a reason; the first row that forbids leaving decides. Routing may only restrict further.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ..domain.entities import EntityType
from ..domain.obstacles import Obstacle
from ..inspection.inspector import Inspection
from ..settings import Action
from .permissions import Permissions


class Verdict(StrEnum):
    """The decision of policy, from most to least restrictive."""

    BLOCK = "block"
    STAY = "stay"
    LEAVE = "leave"

    @property
    def may_leave(self) -> bool:
        """Whether tokenized text may be sent to a cloud."""
        return self is Verdict.LEAVE


class Reason(StrEnum):
    """Reason codes in `explain` and audit records; after a colon, the entity type, language or component concerned."""

    NO_CLOUD = "no-cloud"
    ENTITY_TYPE_BLOCKED = "entity-type-blocked"
    ENTITY_TYPE_ON_PREM = "entity-type-on-prem"
    OBSTACLE = "obstacle"
    OBSTACLE_BLOCKED = "obstacle-blocked"
    LANGUAGE = "language"
    TOKENIZED = "tokenized"
    MASKED = "masked"
    CLEAN = "clean"
    SCREENED = "screened"
    # After the policy decision:
    DETECTOR_FAILED = "detector-failed"
    WORK_EXCEEDED = "work-exceeded"
    OUTGOING_SCAN = "outgoing-scan"
    VAULT_FAILED = "vault-failed"

    def about(self, what: str) -> str:
        """Return the reason with its subject, such as `language:und`."""
        return f"{self.value}:{what}"


_OF_FINDINGS = frozenset(
    {
        *(Reason.ENTITY_TYPE_BLOCKED.value, Reason.ENTITY_TYPE_ON_PREM.value, Reason.TOKENIZED.value),
        *(Reason.MASKED.value, Reason.CLEAN.value, Reason.OUTGOING_SCAN.value, Reason.SCREENED.value),
    }
)
_OBSTACLES_OF_FINDINGS = frozenset(
    reason.about(each)
    for reason in (Reason.OBSTACLE, Reason.OBSTACLE_BLOCKED)
    for each in (Obstacle.KEY, Obstacle.SCHEMA, Obstacle.NUMBER, Obstacle.CROWD)
)
_NEVER_LISTED = frozenset(
    reason.about(EntityType.SECRET) for reason in (Reason.ENTITY_TYPE_BLOCKED, Reason.ENTITY_TYPE_ON_PREM)
)
"""Reasons about an entity type that no list contains; clients need them to remove a secret."""
COARSE = "content"
"""Reason for clients that depends on findings, which could otherwise tell whether a name is listed."""


def coarse(reasons: Sequence[str]) -> list[str]:
    """Return the reasons for a client without the admin scope: those that do not depend on findings, else `COARSE`.

    Findings are left out next to another reason, because their presence would tell as much as their type.
    """
    own = [
        reason
        for reason in reasons
        if reason in _NEVER_LISTED
        or (reason.partition(":")[0] not in _OF_FINDINGS and reason not in _OBSTACLES_OF_FINDINGS)
    ]
    return own or ([COARSE] if reasons else [])


FORMER_REASONS = {
    "detector-failed:second-look": "detector-failed:llm-review",
    "kind-blocked": "entity-type-blocked",
    "kind-on-prem": "entity-type-on-prem",
    "second-look": "outgoing-scan",
}
"""Current reason by the reason that earlier releases wrote. Signed records keep the former reason."""


def with_current_name(reason: str) -> str:
    """Return a reason of an audit record; a former reason is followed by its current name."""
    for former, current in FORMER_REASONS.items():
        if reason == former or reason.startswith(f"{former}:"):
            return f"{reason} (now {current})"
    return reason


@dataclass(frozen=True, slots=True)
class Permit:
    """The decision for one request."""

    verdict: Verdict
    reasons: tuple[str, ...]
    """In the order of the table; never empty."""


def decide(inspection: Inspection, permissions: Permissions) -> Permit:
    """Return the decision for a request with these contents."""
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
        return Permit(Verdict.BLOCK, _reasons(Reason.ENTITY_TYPE_BLOCKED, blocked))
    if not permissions.has_cloud:
        return Permit(Verdict.STAY, (Reason.NO_CLOUD.value,))
    if refused := obstacles & permissions.blocked_obstacles:
        return Permit(Verdict.BLOCK, _reasons(Reason.OBSTACLE_BLOCKED, refused))
    staying = _reasons(Reason.ENTITY_TYPE_ON_PREM, by_action.get(Action.ON_PREM, ()))
    staying += _reasons(Reason.OBSTACLE, obstacles)
    if permissions.by_entity_type[EntityType.PERSON] is not Action.ALLOW:
        staying += _reasons(Reason.LANGUAGE, languages - permissions.name_languages)
    if staying:
        return Permit(Verdict.STAY, staying)
    leaving = _reasons(Reason.TOKENIZED, by_action.get(Action.TOKENIZE, ()))
    leaving += _reasons(Reason.MASKED, by_action.get(Action.MASK, ()))
    return Permit(Verdict.LEAVE, leaving or (Reason.CLEAN.value,))


def stricter(first: Permit, second: Permit) -> Permit:
    """Return the more restrictive decision; `first` if both are equally restrictive."""
    return second if _STRICT_FIRST.index(second.verdict) < _STRICT_FIRST.index(first.verdict) else first


_STRICT_FIRST = tuple(Verdict)


def _reasons(reason: Reason, about: Collection[str]) -> tuple[str, ...]:
    if not about:
        return ()
    start = f"{reason}:"
    return tuple([start + what for what in sorted(about)])
