"""Stands in for nv-fabricmanager: runs only beside a driver of its own version, like the real one (simulated)."""

from __future__ import annotations

from pathlib import Path

from . import daemon
from .board import FABRIC_MANAGER_FILE, SIMULATED, Board


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run it.

    Args:
        arguments: as the real program takes them; only --version matters.
        version: of this fabric manager.
        root: of the node's file system.
    """
    if "--version" in arguments or "-v" in arguments:
        print(f"Fabric Manager version is : {version}")  # noqa: T201 - a program of its own
        return 0
    loaded = Board(root).loaded_version
    if loaded is None:
        daemon.say(
            "request to query NVSwitch device information from NVSwitch driver failed with error:"
            "WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"
        )
        return 1
    if loaded != version:
        daemon.say(
            f"fabric manager NVIDIA GPU driver interface version {version} don't match with driver version {loaded}. "
            "Please update with matching NVIDIA driver package."
        )
        return 1
    daemon.say(f"Fabric Manager version {version} is running, {SIMULATED}")
    daemon.say("Successfully configured all the available NVSwitches to route GPU NVLink traffic.")
    return daemon.live(root / FABRIC_MANAGER_FILE, version)
