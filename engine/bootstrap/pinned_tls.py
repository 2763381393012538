"""Connections to a server whose TLS certificate has one SHA-256; needs the library requests."""

from __future__ import annotations

from typing import Any

from requests.adapters import HTTPAdapter


class PinnedAdapter(HTTPAdapter):
    """Adapter of requests that accepts one certificate only, of any issuer.

    urllib3 compares the certificate after the handshake and before it sends a request (`assert_fingerprint`).
    """

    def __init__(self, certificate_sha256: str) -> None:
        self._certificate_sha256 = certificate_sha256
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pool with the pinned certificate."""
        super().init_poolmanager(*args, **options, assert_fingerprint=self._certificate_sha256)
