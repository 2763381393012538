"""Check of URLs inside the site that the gateway calls: https, with a private IPv4 address."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

from pydantic import AnyHttpUrl

from sovctl.support.errors import Problem


def own_address(url: AnyHttpUrl, where: str, *, otherwise: str = "") -> Iterator[Problem]:
    """Yield the problems of a URL that must be inside the site.

    Args:
        otherwise: advice for a server outside the site, added to the hint.
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
            hint=f"outside the site, the gateway connects only to the clouds of its routes{instead}",
        )
