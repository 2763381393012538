"""What an answer must pass, and who looks at one that does not, as site.yaml has it; a part of `spec`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .detect import NodePath, Sha256
from .policy import EntityKind
from .types import FilePath, Language, Name, SpecModel, words

OnFailure = Literal["hand-off", "refuse"]
"""What happens to an answer that a check does not let through: a person gets it, or the client gets an error."""

IdentifierAction = Literal["allow", "mask", "hand-off", "refuse"]

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=1000), words("a text of at most 1000 characters", kind="text")
]


class Citations(SpecModel):
    """Every sentence that states something names a passage of the request, and that passage says so."""

    min_support: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of a sentence's content words that its passages must hold, rare ones counting more."""
    ungrounded_mark: Annotated[str, StringConstraints(min_length=3, max_length=40)] = "[ungrounded]"
    """What the model is told to write in a sentence that no passage supports."""
    on_ungrounded: Literal["release", "hand-off", "refuse"] = "release"
    """What happens to an answer with that mark."""
    on_failure: OnFailure = "hand-off"
    """What happens to one that is not supported."""


class Forbidden(SpecModel):
    """A list of phrases that no answer may hold. The operator puts it on the gateway's nodes, readable by all."""

    name: Name
    """What audit records call it."""
    file: NodePath
    """One phrase a line."""
    sha256: Sha256
    """Of the file, so that what is in force is what was reviewed."""
    languages: list[Literal["de", "en", "pl", "ru"]] = Field(default_factory=list)
    """Languages whose endings are left out of the comparison."""
    on_failure: OnFailure = "hand-off"
    """What happens to an answer that holds one."""


class Identifiers(SpecModel):
    """Identifiers in an answer that are not in the conversation or its passages: made up, or somebody else's."""

    default: IdentifierAction = "hand-off"
    """For every kind that is not listed."""
    entities: dict[EntityKind, IdentifierAction] = Field(default_factory=dict)
    """By kind; docs/gateway.md says what each kind is."""
    known: list[Annotated[str, StringConstraints(min_length=3, max_length=200)]] = Field(default_factory=list)
    """The site's own, which it gives to anybody: telephone numbers and addresses of its service."""


class JsonSchema(SpecModel):
    """An answer for which the request gave a JSON schema must be valid."""

    on_failure: OnFailure = "refuse"
    """What happens to one that is not."""


class Release(SpecModel):
    """What the answers of a route must pass before the client sees them; what is absent is not checked."""

    citations: Citations | None = None
    """Passages support what is said."""
    forbidden: Annotated[list[Forbidden], Field(max_length=50)] = Field(default_factory=list)
    """Phrases that no answer may hold."""
    identifiers: Identifiers | None = None
    """Nothing of anybody whom the conversation does not name."""
    json_schema: JsonSchema | None = None
    """Answers are valid where a schema was given."""
    max_hold_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """How much of a stream may wait for the end of its sentence, in characters."""
    max_hold_s: Annotated[float, Field(gt=0, le=600)] = 5.0
    """How long it may wait, in seconds."""

    @property
    def may_hand_off(self) -> bool:
        """True when some check may hand an answer over to a person."""
        said: list[str] = [each.on_failure for each in (self.citations, self.json_schema, *self.forbidden) if each]
        said += [self.citations.on_ungrounded] if self.citations else []
        said += [self.identifiers.default, *self.identifiers.entities.values()] if self.identifiers else []
        return "hand-off" in said


class Webhook(SpecModel):
    """Who is told that somebody is needed: ids, reason codes and counts, signed. The key of the signature is made by
    `apply`; `.sovctl/keys/handoff-webhook.key` is for the receiver as well."""

    url: AnyHttpUrl
    """By https; the host is a private address, which the wall opens for the gateway."""
    ca_file: FilePath | None = None
    """Who signs the receiver's certificate, on the controller, relative to site.yaml; the site's own authority when
    absent."""
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 5.0
    """Seconds for one call."""


class Handoff(SpecModel):
    """The queue of answers that wait for a person, on each gateway node."""

    texts: Annotated[dict[Language, Text], Field(min_length=1)] = Field(
        default_factory=lambda: {"en": "This answer is held back until a person has looked at it. Reference: {id}"}
    )
    """What the client reads instead, by the request's language; the first for all others. `{id}` is the reference."""
    max_open: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """How many may wait or be taken; one more is refused."""
    stuck_after_s: Annotated[int, Field(ge=1, le=604_800)] = 3600
    """Seconds until one that nobody took shows in `/readyz`."""
    webhook: Webhook | None = None
    """Who is told; nobody when absent."""
