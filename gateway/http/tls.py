"""Checks the certificates of the gateway's listeners before a port is opened."""

from __future__ import annotations

import ssl

from sovctl.support.errors import InputError

from ..settings import Listen


def check_certificate(listen: Listen, *, where: str = "listen") -> None:
    """Check that certificate and key match, and that the authority of client certificates is readable.

    Args:
        where: the settings key of the listener.

    Raises:
        InputError: they do not match, or are unreadable.
    """
    if listen.certificate_file is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(listen.certificate_file, listen.key_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"certificate or key unusable: {_reason(error)}", where=f"{where}: certificate_file, key_file"
        ) from error
    if listen.client_ca_file is None:
        return
    try:
        context.load_verify_locations(listen.client_ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"authority's certificate unusable: {_reason(error)}", where=f"{where}: client_ca_file"
        ) from error


def client_certificates(listen: Listen) -> ssl.VerifyMode:
    """Return whether clients must, may or cannot show a certificate. An invalid one ends the handshake."""
    if listen.client_ca_file is None:
        return ssl.CERT_NONE
    return ssl.CERT_REQUIRED if listen.requires_client_certificate else ssl.CERT_OPTIONAL


def _reason(error: OSError | ssl.SSLError) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
