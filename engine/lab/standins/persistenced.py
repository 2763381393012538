"""Simulated nvidia-persistenced: persistence mode is enabled while it runs."""

from __future__ import annotations

from pathlib import Path

from . import daemon
from .board import PERSISTENCED_FILE, SIMULATED, Board


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run the program; see fabricmanager.main."""
    if "--version" in arguments:
        print(f"nvidia-persistenced:  version {version}")  # noqa: T201 - this is a program
        return 0
    loaded = Board(root).loaded_version
    if loaded is None:
        daemon.log("Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist")
        return 1
    if loaded != version:  # the resource manager rejects clients of another version
        daemon.log(f"API mismatch: this client has the version {version}, but the kernel module has {loaded}")
        return 1
    daemon.log(f"Started, {SIMULATED}")
    return daemon.run(root / PERSISTENCED_FILE, version)
