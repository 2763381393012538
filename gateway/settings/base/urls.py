"""Checks of the URLs and hosts in settings."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

from pydantic import AnyHttpUrl, StringConstraints

HostName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$")
]
"""A complete host name in lower case."""


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
