"""Where clients reach the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from .model import SettingsModel, is_loopback


class Listen(SettingsModel):
    """Where clients reach the gateway: with TLS, or on this machine only."""

    host: str = "0.0.0.0"  # noqa: S104 - the perimeter decides who may reach it, node by node
    port: Annotated[int, Field(ge=1, le=65535)] = 8443
    certificate_file: Path | None = None
    key_file: Path | None = None
    client_ca_file: Path | None = None
    """Who signs the certificates of clients (mTLS); a client that shows one is known by a name in it."""
    requires_client_certificate: bool = False
    """Nobody connects without a certificate of `client_ca_file`, whatever else he shows."""

    head_timeout_s: Annotated[float, Field(gt=0, le=600)] = 20.0
    """From a request's first byte to the end of its head; as Apache httpd's mod_reqtimeout (header=20, 2.4)."""
    body_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 20.0
    """How long a body may pause, or take beyond 500 bytes a second; as mod_reqtimeout (body=20,MinRate=500)."""
    write_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """How long a client may leave its answer unread; as nginx (send_timeout, 60 s)."""
    max_head_bytes: Annotated[int, Field(ge=8192, le=1 << 20)] = 65536
    """Of request line and header fields together; a token of an identity provider is 1 to 16 KiB."""

    @model_validator(mode="after")
    def _encrypted_or_local(self) -> Listen:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        if self.certificate_file is None and not is_loopback(self.host):
            raise ValueError(f"expected certificate_file and key_file, got none for {self.host}, which is not loopback")
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file: expected certificate_file and key_file beside it, got neither")
        if self.requires_client_certificate and self.client_ca_file is None:
            raise ValueError("client_ca_file: expected a file where requires_client_certificate is true, got none")
        return self
