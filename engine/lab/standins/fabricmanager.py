"""Simulated nv-fabricmanager, which requires a driver of the same version, as the real one."""

from __future__ import annotations

import time
from pathlib import Path

from . import daemon
from .board import FABRIC_MANAGER_FILE, SIMULATED, Board

LOG_FILE = "var/log/fabricmanager.log"


def log_lines(board: Board, version: str) -> list[str]:
    """Return the lines of the log after a start."""
    now = time.strftime("%b %d %Y %H:%M:%S")
    lines = [
        f"[INFO] [tid 77] Fabric Manager version {version} is running with the following configuration options",
        f"[INFO] [tid 77] {SIMULATED}",
        "[INFO] [tid 77] Successfully configured all the available NVSwitches to route GPU NVLink traffic.",
        *board.facts.get("fabric_manager_log", []),
    ]
    return [f"[{now}] {line}" for line in lines]


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
    file = root / LOG_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(log_lines(Board(root), version)) + "\n")
    daemon.log(f"Fabric Manager version {version} is running, {SIMULATED}")
    daemon.log("Successfully configured all the available NVSwitches to route GPU NVLink traffic.")
    return daemon.run(root / FABRIC_MANAGER_FILE, version)
