"""Simulated nv-fabricmanager, which requires a driver of the same version, as the real one."""

from __future__ import annotations

from pathlib import Path

from . import daemon
from .board import FABRIC_MANAGER_FILE, SIMULATED, Board


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run the program.

    Args:
        arguments: of the command line; all except --version are ignored.
        version: of this fabric manager.
        root: root folder of the node.

    Returns:
        The exit code.
    """
    if "--version" in arguments or "-v" in arguments:
        print(f"Fabric Manager version is : {version}")  # noqa: T201 - this is a program
        return 0
    loaded = Board(root).loaded_version
    if loaded is None:
        daemon.log(
            "request to query NVSwitch device information from NVSwitch driver failed with error:"
            "WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"
        )
        return 1
    if loaded != version:
        daemon.log(
            f"fabric manager NVIDIA GPU driver interface version {version} don't match with driver version {loaded}. "
            "Please update with matching NVIDIA driver package."
        )
        return 1
    daemon.log(f"Fabric Manager version {version} is running, {SIMULATED}")
    daemon.log("Successfully configured all the available NVSwitches to route GPU NVLink traffic.")
    return daemon.run(root / FABRIC_MANAGER_FILE, version)
