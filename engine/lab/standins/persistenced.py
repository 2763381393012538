"""Stands in for nvidia-persistenced: persistence mode is on while it runs (simulated)."""

from __future__ import annotations

from pathlib import Path

from . import daemon
from .board import PERSISTENCED_FILE, SIMULATED, Board


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run it; see fabricmanager.main."""
    if "--version" in arguments:
        print(f"nvidia-persistenced:  version {version}")  # noqa: T201 - a program of its own
        return 0
    if Board(root).loaded_version is None:
        daemon.say("Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist")
        return 1
    daemon.say(f"Started, {SIMULATED}")
    return daemon.live(root / PERSISTENCED_FILE, version)
