"""Stands in for loading and unloading the kernel module (simulated).

Loading shows /proc/driver/nvidia/version and records the loaded version. A node that already has another version
loaded takes the new one over, as after a reboot, unless its facts say `swaps_while_loaded: false`: then the old module
stays until the node really reboots, and nvidia-smi says so like the real one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .board import LOADED_VERSION_FILE, SIMULATED, Board

PROC_FOLDER = "proc/driver"


def wanted_version(board: Board) -> str | None:
    """Which version should be loaded now; None for none."""
    driver = board.facts.get("driver", {})
    if not board.gpus or not driver.get("loads", False):
        return None
    if board.loaded_version and not driver.get("swaps_while_loaded", True):
        return board.loaded_version
    return board.module_version


def version_text(version: str) -> str:
    """What /proc/driver/nvidia/version says."""
    return (
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  ({SIMULATED})\n"
        f"GCC version:  none, {SIMULATED}\n"
    )


def main(root: Path = Path("/")) -> int:
    """Bring what is loaded in line with what is installed and with the facts.

    Returns:
        The exit code, 0.
    """
    board = Board(root)
    before, version = board.loaded_version, wanted_version(board)
    shown, record = root / PROC_FOLDER / "nvidia", root / LOADED_VERSION_FILE
    if version is None:
        shutil.rmtree(shown, ignore_errors=True)
        record.unlink(missing_ok=True)
    else:
        if _make_writable(root / PROC_FOLDER):
            shown.mkdir(exist_ok=True)
            (shown / "version").write_text(version_text(version))
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(version + "\n")
    if version is not None and before != version:
        _restart_followers()
    return 0


def _make_writable(folder: Path) -> bool:
    """/proc takes no files; a small file system over one folder of it does.

    Returns:
        False where the kernel has no such folder.
    """
    if not folder.is_dir():
        return False
    try:
        (folder / ".sovctl-lab").touch()
    except OSError:
        options = ["-o", "mode=0755,size=64k"]
        subprocess.run(["mount", "-t", "tmpfs", *options, "sovctl-lab", str(folder)], check=True, timeout=10)
    return True


def _restart_followers() -> None:
    """What needs the driver starts anew, as the reboot after a real change of driver would have it."""
    for unit in ("nvidia-persistenced.service", "nvidia-fabricmanager.service"):
        is_enabled = (
            subprocess.run(["systemctl", "--quiet", "is-enabled", unit], check=False, timeout=10).returncode == 0
        )
        word = "restart" if is_enabled else "try-restart"
        subprocess.run(["systemctl", "--no-block", word, unit], check=False, timeout=10)
