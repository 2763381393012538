"""The institution's own people and companies, as an index of keyed hashes that `sovctl gateway edm build` makes."""

from __future__ import annotations

from pathlib import Path

from .model import SettingsModel


class ExactDataMatchSettings(SettingsModel):
    """Where the index is. Both files are looked at once a second, and a changed one is read."""

    index_file: Path
    """Moved into its place as a whole; never written over while a gateway serves."""
    key_file: Path
    """The key that it was built with: 32 bytes, hex; only its owner may read it."""
