"""Passes the names in a client's certificate from the TLS connection to the application.

uvicorn does not pass the certificate on. `CertificateProtocol` reads it once per connection, after OpenSSL has verified
it against `listen.client_ca_file`, and puts a `Peer` into the `state` of every request on that connection.

    uvicorn.Config(..., http=CertificateProtocol, ssl_ca_certs=..., ssl_cert_reqs=ssl.CERT_OPTIONAL)
    scope["state"].get(PEER)          # a Peer, or None
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..http.connections import DeadlineProtocol

PEER = "peer"
_KINDS = {"DNS": "dns", "URI": "uri", "email": "email"}


@dataclass(frozen=True, slots=True)
class Peer:
    """Verified certificate of a client."""

    names: tuple[str, ...]
    """Names such as `dns:branch.bank.example`, `uri:spiffe://bank/branch`, `cn:branch`, `sha256:...`; the digest
    first, then in the certificate's order."""
    thumbprint: str
    """Base64url of its SHA-256, in the format of tokens (RFC 8705, 3.1)."""
    not_after: float
    """Expiry in seconds since 1970; a connection may last longer."""


def peer_of(certificate: Mapping[str, Any], der: bytes) -> Peer:
    """Convert the result of `ssl.SSLSocket.getpeercert`.

    Args:
        certificate: the decoded form.
        der: the same certificate's bytes.
    """
    digest = hashlib.sha256(der)
    names = [f"sha256:{digest.hexdigest()}"]
    names += [f"{_KINDS[kind]}:{value}" for kind, value in certificate.get("subjectAltName", ()) if kind in _KINDS]
    names += [f"cn:{value}" for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    thumbprint = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    return Peer(tuple(names), thumbprint, float(ssl.cert_time_to_seconds(certificate["notAfter"])))


class CertificateProtocol(DeadlineProtocol):
    """Passes the client's certificate to the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the certificate, if the client showed one."""
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        # With CERT_NONE no certificate is requested; otherwise an invalid one ends the handshake.
        if connection is not None and (der := connection.getpeercert(binary_form=True)):
            self.app_state = {**self.app_state, PEER: peer_of(connection.getpeercert(), der)}
