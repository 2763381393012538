"""TLS contexts for an upstream and its proxy: trusted authorities and the client certificate.

tls_context(settings)      # None if all its URLs are plain http on this machine
proxy_of(settings)         # None without a proxy
"""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_secret

from ..settings import UpstreamSettings
from .proxy import Proxy, basic


def tls_context(settings: UpstreamSettings) -> ssl.SSLContext | None:
    """Return the TLS context; None if all URLs are plain http on this machine.

    Raises:
        InputError: a certificate or key is unusable.
    """
    if all(url.scheme == "http" for url in settings.base_urls):
        return None
    return _context(
        settings.ca_file,
        settings.certificate_file,
        settings.key_file,
        where=f"upstreams: {settings.name}",
        hint="ca_file, key_file",
    )


def proxy_of(settings: UpstreamSettings) -> Proxy | None:
    """Return the proxy in front of an upstream; None without one.

    Raises:
        InputError: its CA or its password is unusable.
    """
    proxy = settings.proxy
    if proxy is None:
        return None
    parts, where = urlsplit(str(proxy.url)), f"upstreams: {settings.name}: proxy"
    assert parts.hostname is not None
    assert proxy.url.port is not None
    tls = _context(proxy.ca_file, None, None, where=where, hint="ca_file") if proxy.url.scheme == "https" else None
    authorization = None
    if proxy.user is not None and proxy.password_file is not None:
        authorization = basic(proxy.user, read_secret(proxy.password_file))
    return Proxy(parts.hostname, proxy.url.port, tls, authorization)


def service_context(
    ca_file: Path | None, certificate_file: Path | None, key_file: Path | None, *, where: str
) -> ssl.SSLContext:
    """Return the TLS context for another service of the site.

    Raises:
        InputError: a certificate or key is unusable.
    """
    return _context(ca_file, certificate_file, key_file, where=where, hint="ca_file, certificate_file, key_file")


def _context(
    ca_file: Path | None, certificate_file: Path | None, key_file: Path | None, *, where: str, hint: str
) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if certificate_file is not None:
            context.load_cert_chain(certificate_file, key_file)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"certificate or key unusable: {reason}", where=where, hint=hint) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    context.set_alpn_protocols(["http/1.1"])
    return context
