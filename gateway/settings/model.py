"""What all settings share: frozen, no unknown key, one form of names, no text over an unencrypted line."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""


class SettingsModel(BaseModel):
    """Base: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def encrypted_or_local(url: AnyHttpUrl) -> AnyHttpUrl:
    """`url` when it is https, or leads to this machine itself.

    Raises:
        ValueError: it does not.
    """
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
