"""An address that the gateway calls and that must be the site's own: https, at a private IPv4 address."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

from pydantic import AnyHttpUrl

from sovctl.support.errors import Problem


def own_address(url: AnyHttpUrl, where: str, *, otherwise: str = "") -> Iterator[Problem]:
    """What is wrong with it.

    Args:
        otherwise: what to do where it can't be the site's own.
    """
    instead = f"; {otherwise}" if otherwise else ""
    if url.scheme != "https":
        yield Problem(f"expected https, got {url.scheme}", where=where, hint=f"use TLS{instead}")
    try:
        is_private = IPv4Address(url.host or "").is_private
    except AddressValueError:
        is_private = False
    if not is_private:
        yield Problem(
            f"expected a private IPv4 address as host, got `{url.host}`",
            where=where,
            hint=f"the gateway calls nobody outside but the clouds of its routes{instead}",
        )
