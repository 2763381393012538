"""Where audit records are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from .model import SettingsModel


class LedgerSettings(SettingsModel):
    """Where the audit records go."""

    directory: Path
    key_file: Path
    origin: Annotated[str, StringConstraints(pattern=r"^[!-*,-~]{1,100}$")]
    """Name of this log in its signed checkpoints; no spaces, no plus sign (C2SP signed-note)."""
