"""Where clients reach the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from sovctl.gateway.settings.model import SettingsModel
from sovctl.gateway.settings.upstream import is_loopback


class Listen(SettingsModel):
    """Where clients reach the gateway: with TLS, or on this machine only."""

    host: str = "0.0.0.0"  # noqa: S104 - the perimeter decides who may reach it, node by node
    port: Annotated[int, Field(ge=1, le=65535)] = 8443
    certificate_file: Path | None = None
    key_file: Path | None = None

    @model_validator(mode="after")
    def _encrypted_or_local(self) -> Listen:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        if self.certificate_file is None and not is_loopback(self.host):
            raise ValueError(f"expected certificate_file and key_file, got none for {self.host}, which is not loopback")
        return self
