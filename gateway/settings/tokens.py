"""Settings of the form of tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base.model import SettingsModel

FormKind = Literal["EMAIL", "IBAN", "PHONE", "CARD"]


class TokenSettings(SettingsModel):
    """Form of tokens."""

    format_preserving: list[FormKind] = Field(default_factory=list)
    """Entity types that are replaced by a fictitious value of the same format if a JSON schema in the request requires
    that format: an address at `tokens.invalid`, an IBAN of an unassigned country, unassigned numbers."""
