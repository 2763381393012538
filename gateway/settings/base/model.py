"""Base model and type of names for all settings, and the messages of their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_NAME = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[str, StringConstraints(pattern=_NAME)]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""
_PATTERNS = {
    _NAME: "lower-case letters, digits and hyphens, a letter first, at most 31 in all",
    r"^[A-Z][A-Z0-9_]{1,60}$": "capital letters, digits and underscores, a letter first, 2 to 61 in all",
    r"^[^\x00-\x1f\x7f]{1,500}$": "1 to 500 characters, none of them a control character",
    "^[a-z]{2}$": "the two letters of a language (ISO 639-1)",
    "^[0-9a-f]{64}$": "a SHA-256 in 64 lower-case hex digits",
}


class SettingsModel(BaseModel):
    """Base model: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def in_words(error: ErrorDetails) -> str:
    """Return pydantic's message of one error in lower case, with a description instead of a regular expression."""
    if error["type"] == "string_pattern_mismatch" and (words := _PATTERNS.get(error["ctx"]["pattern"])):
        return f"expected {words}"
    message = error["msg"].removeprefix("Value error, ")
    return message if message[1:2].isupper() else message[:1].lower() + message[1:]  # keep "URL scheme ..."
