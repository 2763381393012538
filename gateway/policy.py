"""Where may a request go? A table over what was found in it; pure.

| found | answer |
|---|---|
| the route names no cloud | stays on-prem, whatever is in it |
| a kind whose action is `block` | refused |
| a kind whose action is `on-prem` | stays on-prem |
| something that can't be inspected or rewritten | stays on-prem |
| a language in which this site doesn't accept the finding of names, or none that can be told | stays on-prem |
| kinds whose action is `tokenize` | may leave, as tokens |
| kinds whose action is `allow`, or nothing | may leave |

Every row that applies gives a reason; the first one that forbids decides. What comes after (`route`) may only narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sovctl.gateway.detect.language import NONE
from sovctl.gateway.inspection import Inspection
from sovctl.gateway.kinds import Kind
from sovctl.gateway.settings import Action, PolicySettings


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
    LANGUAGE = "language"
    TOKENIZED = "tokenized"
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


def decide(inspection: Inspection, policy: PolicySettings, *, has_cloud: bool) -> Permit:
    """What policy allows for a request with this in it."""
    if not has_cloud:
        return Permit(Verdict.STAY, (Reason.NO_CLOUD.value,))
    by_action: dict[Action, list[Kind]] = {action: [] for action in Action}
    for kind in Kind:
        if inspection.counts.get(kind):
            by_action[policy.action_for(kind)].append(kind)
    blocked = [Reason.KIND_BLOCKED.about(kind.value) for kind in by_action[Action.BLOCK]]
    if blocked:
        return Permit(Verdict.BLOCK, tuple(blocked))
    staying = [Reason.KIND_ON_PREM.about(kind.value) for kind in by_action[Action.ON_PREM]]
    staying += [Reason.OBSTACLE.about(obstacle.value) for obstacle in sorted(inspection.obstacles)]
    if policy.action_for(Kind.PERSON) is not Action.ALLOW:
        unknown = inspection.languages - {NONE, *policy.name_languages}
        staying += [Reason.LANGUAGE.about(language) for language in sorted(unknown)]
    if staying:
        return Permit(Verdict.STAY, tuple(staying))
    tokenized = [Reason.TOKENIZED.about(kind.value) for kind in by_action[Action.TOKENIZE]]
    return Permit(Verdict.LEAVE, tuple(tokenized or [Reason.CLEAN.value]))
