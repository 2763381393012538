"""Settings of exact data match: an index of known people and companies as keyed hashes (`sovctl gateway edm build`)."""

from __future__ import annotations

from pathlib import Path

from ..base.model import SettingsModel


class ExactDataMatchSettings(SettingsModel):
    """Files of the index. Both are checked once a second, and reloaded on change."""

    index_file: Path
    """Index file. Replace it by renaming a complete file. Do not overwrite it while a gateway runs."""
    key_file: Path
    """Key of the index: 32 bytes, hex, mode 0600."""
