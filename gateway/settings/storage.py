"""Where originals and audit records are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from sovctl.gateway.settings.model import SettingsModel


class VaultSettings(SettingsModel):
    """Where originals are kept, sealed, until their conversation expires."""

    path: Path
    """SQLite file; made when absent. Its folder must belong to the gateway alone."""
    kek_file: Path
    """Key that wraps the conversations' keys: 32 bytes, hex."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""


class LedgerSettings(SettingsModel):
    """Where the audit records go."""

    directory: Path
    key_file: Path
    origin: Annotated[str, StringConstraints(pattern=r"^[!-*,-~]{1,100}$")]
    """Name of this log in its signed checkpoints; no spaces, no plus sign (C2SP signed-note)."""
