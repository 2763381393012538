"""Chooses the credentials of an upstream by its API.

authorization = authorization_of(settings)      # None if a constant header suffices
headers = await authorization.headers(authority="bedrock-runtime...", target="/model/...", body=body)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...settings import UpstreamSettings
from ..proxy import Proxy


class Authorization(Protocol):
    """Computes the headers that authorize a request."""

    async def headers(self, *, authority: str, target: str, body: bytes) -> Mapping[str, str]:
        """Return the headers of a POST.

        Args:
            authority: value of the `Host` header.
            target: path and query, as sent.

        Raises:
            UpstreamFailed: credentials are absent or expired (`credentials`); nothing may be sent.
        """

    def rejected(self) -> None:
        """Forget what is cached, because the server rejected it."""


def authorization_of(settings: UpstreamSettings, proxy: Proxy | None = None) -> Authorization | None:
    """Return the credentials of an upstream; None if it gets a constant header or none.

    Args:
        proxy: in front of the upstream, and of the endpoint of its tokens.

    Raises:
        InputError: a file with keys is unusable.
    """
    if settings.bedrock is not None and settings.bedrock.credentials_file is not None:
        from .aws_keys import AwsAuthorization

        return AwsAuthorization(settings.bedrock, settings.bedrock.credentials_file)
    if settings.vertex is not None:
        from .service_account import ServiceAccount

        return ServiceAccount(settings.vertex, connect_timeout_s=settings.connect_timeout_s, proxy=proxy)
    return None
