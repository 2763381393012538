"""How tokens look."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .model import SettingsModel

FormKind = Literal["EMAIL", "IBAN", "PHONE", "CARD"]


class TokenSettings(SettingsModel):
    """How tokens look."""

    format_preserving: list[FormKind] = Field(default_factory=list)
    """Kinds that get a stand-in of their own form where a schema in the request asks for that form: an address at
    `tokens.invalid`, an IBAN of no country, numbers that nobody is given. Elsewhere they are tokens."""
