"""Base model, type of names and check of URLs for all settings."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, StringConstraints

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_NAME = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[str, StringConstraints(pattern=_NAME)]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""
_PATTERNS = {
    _NAME: "lower-case letters, digits and hyphens, a letter first, at most 31 in all",
    "^[a-z]{2}$": "the two letters of a language (ISO 639-1)",
    "^[0-9a-f]{64}$": "a SHA-256 in 64 lower-case hex digits",
}


class SettingsModel(BaseModel):
    """Base model: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def in_words(error: ErrorDetails) -> str:
    """Return pydantic's message of one error in lower case, with a description instead of a regular expression."""
    if error["type"] == "string_pattern_mismatch" and (words := _PATTERNS.get(error["ctx"]["pattern"])):
        return f"expected {words}"
    message = error["msg"].removeprefix("Value error, ")
    return message if message[1:2].isupper() else message[:1].lower() + message[1:]  # keep "URL scheme ..."


def encrypted_or_local(url: AnyHttpUrl) -> AnyHttpUrl:
    """Return `url` if it is https or on loopback, and has no user name and password.

    Raises:
        ValueError: the URL is not allowed.
    """
    if url.username is not None or url.password is not None:
        raise ValueError("expected a URL without user name and password")
    if url.scheme == "http" and not is_loopback(url.host or ""):
        raise ValueError("expected https, got http to another machine")
    return url


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is loopback."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
