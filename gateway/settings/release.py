"""What an answer must pass before a client sees it, and what happens to one that does not."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from ..domain.entities import EntityType
from .model import Name, SettingsModel

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class OnFailure(StrEnum):
    """What happens to an answer that a check does not let through."""

    HAND_OFF = "hand-off"  # the client gets a text and an id, a person gets the case
    REFUSE = "refuse"  # the client gets the error `answer_withheld`


class IdentifierAction(StrEnum):
    """What happens to an identifier that the model did not get from this conversation."""

    ALLOW = "allow"
    MASK = "mask"
    HAND_OFF = "hand-off"
    REFUSE = "refuse"


class CitationSettings(SettingsModel):
    """Every sentence that states something names a passage of the request, and that passage says so."""

    min_support: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of a sentence's content words that its passages must hold, weighted by how rare they are in them. 0.5:
    guess, 2026-11; tests/gateway/release/test_citations.py shows what it tells apart."""
    ungrounded_mark: Annotated[str, StringConstraints(min_length=3, max_length=40)] = "[ungrounded]"
    """What the model is told to write in a sentence that no passage supports."""
    on_ungrounded: Literal["release", "hand-off", "refuse"] = "release"
    """What happens to an answer with that mark."""
    on_failure: OnFailure = OnFailure.HAND_OFF


class ForbiddenSettings(SettingsModel):
    """A list of phrases that no answer may hold."""

    name: Name
    file: Path
    """One phrase a line."""
    sha256: Sha256
    """Of the file, so that what is in force is what was reviewed."""
    languages: list[Literal["de", "en", "pl", "ru"]] = Field(default_factory=list)
    """Languages whose endings are left out of the comparison."""
    on_failure: OnFailure = OnFailure.HAND_OFF


class IdentifierSettings(SettingsModel):
    """Identifiers in an answer that are not in the conversation or its passages: made up, or somebody else's."""

    default: IdentifierAction = IdentifierAction.HAND_OFF
    """For every kind that is not listed."""
    entities: dict[str, IdentifierAction] = Field(default_factory=dict)
    known: list[Annotated[str, StringConstraints(min_length=3, max_length=200)]] = Field(default_factory=list)
    """The site's own, which it gives to anybody: telephone numbers and addresses of its service."""

    @field_validator("entities")
    @classmethod
    def _known_kinds(cls, entities: dict[str, IdentifierAction]) -> dict[str, IdentifierAction]:
        entity_types = [entity_type.value for entity_type in EntityType]
        for name in entities:
            if name not in entity_types:
                raise ValueError(f"expected one of {', '.join(entity_types)}, got {name}")
        return entities

    def action_for(self, entity_type: EntityType) -> IdentifierAction:
        """What to do with `kind`."""
        return self.entities.get(entity_type.value, self.default)


class SchemaSettings(SettingsModel):
    """An answer for which the request gave a JSON schema must be valid."""

    on_failure: OnFailure = OnFailure.REFUSE


class ReleaseSettings(SettingsModel):
    """The checks of one route; what is absent is not checked."""

    citations: CitationSettings | None = None
    forbidden: list[ForbiddenSettings] = Field(default_factory=list)
    identifiers: IdentifierSettings | None = None
    json_schema: SchemaSettings | None = None
    max_hold_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """How much of a stream may wait for the end of its sentence. 4,000: about 40 lines; guess, 2026-11."""
    max_hold_s: Annotated[float, Field(gt=0, le=600)] = 5.0
    """How long. The longest class of answers has 5 s in all."""

    @field_validator("forbidden")
    @classmethod
    def _names_once(cls, lists: list[ForbiddenSettings]) -> list[ForbiddenSettings]:
        if len({each.name for each in lists}) != len(lists):
            raise ValueError("expected each name once, got one twice")
        return lists

    @property
    def may_hand_off(self) -> bool:
        """True when some check may hand an answer over to a person."""
        checks = [self.citations, self.json_schema, *self.forbidden]
        found = {check.on_failure for check in checks if check is not None}
        if self.citations is not None:
            found.add(OnFailure.REFUSE if self.citations.on_ungrounded != "hand-off" else OnFailure.HAND_OFF)
        if self.identifiers is not None:
            actions = {self.identifiers.default, *self.identifiers.entities.values()}
            found |= {OnFailure.HAND_OFF} if IdentifierAction.HAND_OFF in actions else set()
        return OnFailure.HAND_OFF in found
