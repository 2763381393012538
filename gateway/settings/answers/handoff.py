"""Settings of hand-offs: the queue of withheld answers, the text for clients, and the webhook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, Field, StringConstraints, field_validator

from ..base.model import SettingsModel
from ..base.urls import encrypted_or_local

Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]
"""ISO 639-1."""

_Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
_ENGLISH = "This answer is withheld until a person has reviewed it. Reference: {id}"


class WebhookSettings(SettingsModel):
    """Receiver of notifications about new hand-offs: ids, reason codes and counts, and no text."""

    url: AnyHttpUrl
    """https URL, or http on loopback."""
    secret_file: Path
    """Key of the HMAC-SHA-256 signature: 32 bytes, hex, mode 0600."""
    ca_file: Path | None = None
    """CA of the receiver's certificate. Default: the system's CAs."""
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 5.0
    """Timeout of one call in seconds. 5 s: guess, 2026-11."""

    @field_validator("url")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)


class HandoffSettings(SettingsModel):
    """Queue of answers that wait for human review."""

    path: Path | None = None
    """SQLite file of all gateway processes of this host. Default: next to the vault's file, or in the vault's
    PostgreSQL database, which all hosts share."""
    texts: Annotated[dict[Language, _Text], Field(min_length=1)] = Field(default_factory=lambda: {"en": _ENGLISH})
    """Text that the client receives instead of the answer, by language of the request; the first text for all other
    languages. `{id}` is replaced by the hand-off's id."""
    max_open: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Maximum open hand-offs, waiting or claimed; further ones are refused (`handoff_queue_full`)."""
    stuck_after_s: Annotated[int, Field(ge=1, le=604_800)] = 3600
    """Seconds until an unclaimed hand-off is reported by `/readyz`. 3,600: guess, 2026-11."""
    webhook: WebhookSettings | None = None

    def text(self, languages: frozenset[str], handoff_id: str) -> str:
        """Return the text for a client whose request is in these languages."""
        chosen = next((text for language, text in self.texts.items() if language in languages), None)
        return (chosen or next(iter(self.texts.values()))).replace("{id}", handoff_id)
