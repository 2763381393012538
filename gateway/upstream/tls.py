"""TLS context for an upstream: trusted authorities and the client certificate.

tls_context(settings)      # None if all its URLs are plain http on this machine
"""

from __future__ import annotations

import ssl

from sovctl.support.errors import InputError

from ..settings import UpstreamSettings


def tls_context(settings: UpstreamSettings) -> ssl.SSLContext | None:
    """Return the TLS context; None if all URLs are plain http on this machine.

    Raises:
        InputError: a certificate or key is unusable.
    """
    if all(url.scheme == "http" for url in settings.base_urls):
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"certificate or key unusable: {reason}", where=f"upstreams: {settings.name}", hint="ca_file, key_file"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    context.set_alpn_protocols(["http/1.1"])
    return context
