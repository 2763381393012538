"""Settings of release checks: conditions on an answer, and the action if it fails."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from ...domain.entities import TEXT_TYPES, EntityType
from ..base.model import Name, SettingsModel

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class OnFailure(StrEnum):
    """Action for an answer that fails a check."""

    HAND_OFF = "hand-off"  # the client receives a text and an id, and the answer is queued for human review
    REFUSE = "refuse"  # the client receives the error `answer_withheld`


class IdentifierAction(StrEnum):
    """Action for an identifier in an answer that does not come from the conversation."""

    ALLOW = "allow"
    MASK = "mask"
    HAND_OFF = "hand-off"
    REFUSE = "refuse"


class CitationSettings(SettingsModel):
    """Every statement in the answer cites a passage of the request, and the passage supports it."""

    min_support: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Fraction of a sentence's content words that its cited passages must contain, weighted by rarity. 0.5: guess,
    2026-11; tests/gateway/release/test_citations.py has examples."""
    ungrounded_mark: Annotated[str, StringConstraints(min_length=3, max_length=40)] = "[ungrounded]"
    """Mark that the model writes in sentences without a supporting passage, as instructed in the prompt."""
    on_ungrounded: Literal["release", "hand-off", "refuse"] = "release"
    """Action for an answer with that mark."""
    on_failure: OnFailure = OnFailure.HAND_OFF


class ForbiddenSettings(SettingsModel):
    """A list of forbidden phrases."""

    name: Name
    file: Path
    """Text file with one phrase per line."""
    sha256: Sha256
    """SHA-256 of the file. A file with another content is rejected."""
    languages: list[Literal["de", "en", "pl", "ru"]] = Field(default_factory=list)
    """Languages whose inflectional endings are ignored in the comparison."""
    on_failure: OnFailure = OnFailure.HAND_OFF


class IdentifierSettings(SettingsModel):
    """Identifiers in an answer that are not in the conversation or its passages: invented, or of another person."""

    default: IdentifierAction = IdentifierAction.HAND_OFF
    """Action for entity types that are not listed."""
    entity_types: dict[str, IdentifierAction] = Field(default_factory=dict)
    known: list[Annotated[str, StringConstraints(min_length=3, max_length=200)]] = Field(default_factory=list)
    """Values the site publishes, such as its service telephone number. They pass the check."""

    @field_validator("entity_types")
    @classmethod
    def _known_types(cls, entity_types: dict[str, IdentifierAction]) -> dict[str, IdentifierAction]:
        known = [each.value for each in TEXT_TYPES]
        for name in entity_types:
            if name not in known:
                raise ValueError(f"expected one of {', '.join(known)}, got {name}")
        return entity_types

    def action_for(self, entity_type: EntityType) -> IdentifierAction:
        """Return the action for `kind`."""
        return self.entity_types.get(entity_type.value, self.default)


class SchemaSettings(SettingsModel):
    """The answer is valid if the request contains a JSON schema."""

    on_failure: OnFailure = OnFailure.REFUSE


class ReleaseSettings(SettingsModel):
    """Release checks of one route. Absent checks do not run."""

    citations: CitationSettings | None = None
    forbidden: list[ForbiddenSettings] = Field(default_factory=list)
    identifiers: IdentifierSettings | None = None
    json_schema: SchemaSettings | None = None
    max_hold_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """Maximum characters of a stream that are held until the end of the sentence. 4,000: guess, 2026-11 (40 lines)."""
    max_hold_s: Annotated[float, Field(gt=0, le=600)] = 5.0
    """Maximum seconds for which text of a stream is held."""

    @field_validator("forbidden")
    @classmethod
    def _check_names(cls, lists: list[ForbiddenSettings]) -> list[ForbiddenSettings]:
        if len({each.name for each in lists}) != len(lists):
            raise ValueError("names must be unique")
        return lists

    @property
    def may_hand_off(self) -> bool:
        """Whether a check can hand an answer off to a person."""
        checks = [self.citations, self.json_schema, *self.forbidden]
        found = {check.on_failure for check in checks if check is not None}
        if self.citations is not None:
            found.add(OnFailure.REFUSE if self.citations.on_ungrounded != "hand-off" else OnFailure.HAND_OFF)
        if self.identifiers is not None:
            actions = {self.identifiers.default, *self.identifiers.entity_types.values()}
            found |= {OnFailure.HAND_OFF} if IdentifierAction.HAND_OFF in actions else set()
        return OnFailure.HAND_OFF in found
