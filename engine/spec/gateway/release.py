"""Release checks of answers, and the hand-off queue of withheld answers, in site.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from ..types import FilePath, Language, Name, SpecModel, words
from .detect import NodePath, Sha256
from .policy import IdentifierKind

OnFailure = Literal["hand-off", "refuse"]
"""Action for an answer that fails a check: human review, or an error for the client."""

IdentifierAction = Literal["allow", "mask", "hand-off", "refuse"]

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=1000), words("a text of at most 1000 characters", kind="text")
]


class Citations(SpecModel):
    """Every statement in the answer cites a passage of the request, and the passage supports it."""

    min_support: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Fraction of a sentence's content words that its cited passages must contain; rare words have more weight."""
    ungrounded_mark: Annotated[str, StringConstraints(min_length=3, max_length=40)] = "[ungrounded]"
    """Mark that the model writes in sentences without a supporting passage, as instructed in the prompt."""
    on_ungrounded: Literal["release", "hand-off", "refuse"] = "release"
    """Action for an answer with that mark."""
    on_failure: OnFailure = "hand-off"
    """Action for an answer that fails the check."""


class Forbidden(SpecModel):
    """A list of forbidden phrases. The operator installs it on the gateway nodes, readable by all users."""

    name: Name
    """Name in audit records."""
    file: NodePath
    """Text file with one phrase per line."""
    sha256: Sha256
    """SHA-256 of the file. The gateway rejects a file with another content."""
    languages: list[Literal["de", "en", "pl", "ru"]] = Field(default_factory=list)
    """Languages whose inflectional endings are ignored in the comparison."""
    on_failure: OnFailure = "hand-off"
    """Action for an answer with a forbidden phrase."""


class Identifiers(SpecModel):
    """Identifiers in an answer that are not in the conversation or its passages: invented, or of another person."""

    default: IdentifierAction = "hand-off"
    """Action for entity types that are not listed."""
    entity_types: dict[IdentifierKind, IdentifierAction] = Field(default_factory=dict)
    """Action by entity type. docs/gateway.md describes the entity types."""
    known: list[Annotated[str, StringConstraints(min_length=3, max_length=200)]] = Field(default_factory=list)
    """Values the site publishes, such as its service telephone number. They pass the check."""


class JsonSchema(SpecModel):
    """The answer is valid if the request contains a JSON schema."""

    on_failure: OnFailure = "refuse"
    """Action for an invalid answer."""


class Release(SpecModel):
    """Checks on the answers of a route before the client receives them. Absent checks do not run."""

    citations: Citations | None = None
    """Statements cite a supporting passage."""
    forbidden: Annotated[list[Forbidden], Field(max_length=50)] = Field(default_factory=list)
    """Lists of forbidden phrases."""
    identifiers: Identifiers | None = None
    """Identifiers come from the conversation."""
    json_schema: JsonSchema | None = None
    """Answers are valid against the request's JSON schema."""
    max_hold_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """Maximum characters of a stream that are held until the end of the sentence."""
    max_hold_s: Annotated[float, Field(gt=0, le=600)] = 5.0
    """Maximum seconds for which text of a stream is held."""

    @property
    def may_hand_off(self) -> bool:
        """Whether a check can hand an answer off to a person."""
        actions: list[str] = [each.on_failure for each in (self.citations, self.json_schema, *self.forbidden) if each]
        actions += [self.citations.on_ungrounded] if self.citations else []
        actions += [self.identifiers.default, *self.identifiers.entity_types.values()] if self.identifiers else []
        return "hand-off" in actions


class Webhook(SpecModel):
    """Signed notification about a new hand-off, with ids, reason codes and counts. `apply` creates the signing key,
    `.sovctl/keys/handoff-webhook.key`; the receiver needs a copy."""

    url: AnyHttpUrl
    """https URL of the receiver. The host is a private address; the firewall opens it for the gateway."""
    ca_file: FilePath | None = None
    """CA of the receiver's certificate, on the controller, relative to site.yaml. Default: the site's CA."""
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 5.0
    """Timeout of one call in seconds."""


class Handoff(SpecModel):
    """Queue of answers that wait for human review, on each gateway node."""

    texts: Annotated[dict[Language, Text], Field(min_length=1)] = Field(
        default_factory=lambda: {"en": "This answer is withheld until a person has reviewed it. Reference: {id}"}
    )
    """Text that the client receives instead, by language of the request; the first text for all other languages. `{id}`
    is replaced by the reference."""
    max_open: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Maximum open hand-offs; further answers are refused."""
    stuck_after_s: Annotated[int, Field(ge=1, le=604_800)] = 3600
    """Seconds until an unclaimed hand-off is reported by `/readyz`."""
    webhook: Webhook | None = None
    """Receiver of notifications. Default: none."""
