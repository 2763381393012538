"""Where clients reach the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from sovctl.gateway.settings.model import SettingsModel


class Listen(SettingsModel):
    """Where clients reach the gateway; always TLS."""

    host: str = "0.0.0.0"  # noqa: S104 - the perimeter decides who may reach it, node by node
    port: Annotated[int, Field(ge=1, le=65535)] = 8443
    certificate_file: Path
    key_file: Path
