"""Settings of the audit ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from .base.model import SettingsModel


class LedgerSettings(SettingsModel):
    """Folder, signing key and name of the ledger."""

    directory: Path
    key_file: Path
    origin: Annotated[str, StringConstraints(pattern=r"^[!-*,-~]{1,100}$")]
    """Name of the log in signed checkpoints, without spaces and plus signs (C2SP signed-note)."""
