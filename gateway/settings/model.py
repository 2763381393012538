"""What all settings share: frozen, no unknown key, one form of names, no text over an unencrypted line."""

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
    """Base: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def in_words(error: ErrorDetails) -> str:
    """What pydantic says of one wrong value, as we would: lower case first, and no pattern where words do."""
    if error["type"] == "string_pattern_mismatch" and (words := _PATTERNS.get(error["ctx"]["pattern"])):
        return f"expected {words}, got something else"
    message = error["msg"].removeprefix("Value error, ")
    return message if message[1:2].isupper() else message[:1].lower() + message[1:]  # "URL scheme ..." stays


def encrypted_or_local(url: AnyHttpUrl) -> AnyHttpUrl:
    """`url` when it is https, or leads to this machine itself, and holds no secret.

    Raises:
        ValueError: it does not.
    """
    if url.username is not None or url.password is not None:
        raise ValueError("expected an address without user name and password, got one with them")
    if url.scheme == "http" and not is_loopback(url.host or ""):
        raise ValueError("expected https, got http to another machine")
    return url


def is_loopback(host: str) -> bool:
    """True for names and addresses of this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
