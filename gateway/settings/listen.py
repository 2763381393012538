"""Settings of a listener: address, TLS and timeouts of connections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from .base.model import SettingsModel
from .base.urls import is_loopback


class Listen(SettingsModel):
    """Listener for clients: with TLS, or on loopback."""

    host: str = "0.0.0.0"  # noqa: S104 - the firewall of each node restricts access
    port: Annotated[int, Field(ge=1, le=65535)] = 8443
    certificate_file: Path | None = None
    key_file: Path | None = None
    client_ca_file: Path | None = None
    """CA of client certificates (mTLS). A client with a certificate is identified by a name in it."""
    requires_client_certificate: bool = False
    """Whether every connection needs a certificate of `client_ca_file`, in addition to any other credential."""

    head_timeout_s: Annotated[float, Field(gt=0, le=600)] = 20.0
    """Seconds from the first byte of a request to the end of its head; as Apache httpd's mod_reqtimeout (header=20,
    2.4)."""
    body_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 20.0
    """Seconds for which a body may pause or stay below 500 bytes/s; as mod_reqtimeout (body=20,MinRate=500)."""
    write_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds for which a client may not read its answer; as nginx (send_timeout, 60 s)."""
    max_head_bytes: Annotated[int, Field(ge=8192, le=1 << 20)] = 65536
    """Maximum bytes of request line and header fields; a token of an identity provider has 1 to 16 KiB."""

    @model_validator(mode="after")
    def _encrypted_or_local(self) -> Listen:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        if self.certificate_file is None and not is_loopback(self.host):
            raise ValueError(f"expected certificate_file and key_file, got none for {self.host}, which is not loopback")
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file: expected certificate_file and key_file with it, got neither")
        if self.requires_client_certificate and self.client_ca_file is None:
            raise ValueError("client_ca_file: expected a file where requires_client_certificate is true, got none")
        return self
