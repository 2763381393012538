"""Certificates of our own listeners: looked at before a port is opened, so that what is wrong is said then."""

from __future__ import annotations

import ssl

from sovctl.support.errors import InputError

from ..settings import Listen


def check_certificate(listen: Listen, *, where: str = "listen") -> None:
    """Return when our certificate and key belong together, and the clients' authority can be read.

    Args:
        where: the key of the settings that has them.

    Raises:
        InputError: they don't, or can't be read.
    """
    if listen.certificate_file is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(listen.certificate_file, listen.key_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"expected a certificate with its key, got: {_reason(error)}", where=f"{where}: certificate_file, key_file"
        ) from error
    if listen.client_ca_file is None:
        return
    try:
        context.load_verify_locations(listen.client_ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"expected an authority's certificate, got: {_reason(error)}", where=f"{where}: client_ca_file"
        ) from error


def client_certificates(listen: Listen) -> ssl.VerifyMode:
    """Whether clients are asked for a certificate. One that is shown must verify, else the handshake ends."""
    if listen.client_ca_file is None:
        return ssl.CERT_NONE
    return ssl.CERT_REQUIRED if listen.requires_client_certificate else ssl.CERT_OPTIONAL


def _reason(error: OSError | ssl.SSLError) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
