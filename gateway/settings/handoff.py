"""Who takes over when an answer is held back: the queue of hand-offs, what a client is told, whom a webhook tells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, Field, StringConstraints, field_validator

from .model import SettingsModel, encrypted_or_local

Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]
"""ISO 639-1."""

_Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
_ENGLISH = "This answer is held back until a person has looked at it. Reference: {id}"


class WebhookSettings(SettingsModel):
    """Who is told that somebody is needed: ids, reason codes and counts, never text."""

    url: AnyHttpUrl
    """https, or http to this machine itself."""
    secret_file: Path
    """Key of the signature (HMAC-SHA-256): 32 bytes, hex; only its owner may read it."""
    ca_file: Path | None = None
    """Authority of the receiver's certificate; the system's when absent."""
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 5.0
    """For the whole request. 5 s: what receivers commonly answer within; guess, 2026-11."""

    @field_validator("url")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)


class HandoffSettings(SettingsModel):
    """The queue of answers that wait for a person."""

    path: Path | None = None
    """SQLite file of all gateway processes of this host. When absent, the queue is where the vault is: in a file beside
    it, or in its PostgreSQL, where all hosts share it."""
    texts: Annotated[dict[Language, _Text], Field(min_length=1)] = Field(default_factory=lambda: {"en": _ENGLISH})
    """What the client reads instead of the answer, by the request's language; the first one for all other languages.
    `{id}` stands for the hand-off's id."""
    max_open: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Hand-offs that wait or are taken; one more is refused (`handoff_queue_full`)."""
    stuck_after_s: Annotated[int, Field(ge=1, le=604_800)] = 3600
    """After this a hand-off that nobody took shows in `/readyz`. An hour: guess, 2026-11."""
    webhook: WebhookSettings | None = None

    def text(self, languages: frozenset[str], handoff_id: str) -> str:
        """What a client reads whose request is in these languages."""
        chosen = next((text for language, text in self.texts.items() if language in languages), None)
        return (chosen or next(iter(self.texts.values()))).replace("{id}", handoff_id)
