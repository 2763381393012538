"""What may leave, and what a model name means."""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from sovctl.compliance.canonical import digest
from sovctl.gateway.kinds import Kind
from sovctl.gateway.settings.model import Name, SettingsModel


class RouteSettings(SettingsModel):
    """What a client's model name means. Policy may only narrow it."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    pool: Name
    """Where raw text may be served."""
    cloud: Name | None = None
    """Where tokenized text may be served."""
    prefer: Literal["pool", "cloud"] = "pool"


class Action(StrEnum):
    """What policy does with one kind of identifier when a request could leave."""

    TOKENIZE = "tokenize"
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class PolicySettings(SettingsModel):
    """What may leave, kind by kind."""

    default: Action = Action.TOKENIZE
    """For every kind that is not listed."""
    entities: dict[str, Action] = Field(default_factory=dict)
    name_languages: list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]] = Field(default_factory=list)
    """Languages in which this site accepts the gateway's finding of names. Anything else stays on-prem."""

    @field_validator("entities")
    @classmethod
    def _known_kinds(cls, entities: dict[str, Action]) -> dict[str, Action]:
        known = [kind.value for kind in Kind]
        for name in entities:
            if name not in known:
                near = difflib.get_close_matches(name.upper(), known, n=1)
                raise ValueError(f"expected one of {', '.join(known)}, got {name}" + (f" ({near[0]}?)" if near else ""))
        return entities

    def action_for(self, kind: Kind) -> Action:
        """What to do with `kind`."""
        return self.entities.get(kind.value, self.default)

    def digest(self) -> str:
        """SHA-256 of the policy, for the audit record."""
        return digest(self.model_dump(mode="json"))
