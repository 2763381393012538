"""Settings of the audit ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from .base.model import SettingsModel


class LedgerSettings(SettingsModel):
    """Folder, signing key and name of the ledger."""

    directory: Path
    key_file: Path
    origin: Annotated[str, StringConstraints(pattern=r"^[!-*,-~]{1,100}$")]
    """Name of the log in signed checkpoints, without spaces and plus signs (C2SP signed-note)."""
    heartbeat_s: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds between heartbeat records. A longer gap without a record is a finding of `sovctl audit verify`."""
    retention_days: Annotated[int, Field(ge=1, le=36_600)] | None = None
    """Days after which the content of entries is removed. Their hashes stay, so proofs still verify. Unset: never."""
