"""Simulated modprobe for the modules of the NVIDIA driver; other modules are passed to the real one.

modprobe --remove nvidia_uvm nvidia     modprobe --all nvidia nvidia_uvm
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import driver
from .board import LOADED_VERSION_FILE, Board

REAL = "/usr/sbin/modprobe"
MODULES = frozenset({"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia_peermem"})


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run the program. Return the exit code of the real tool."""
    names = {word.replace("-", "_") for word in arguments if not word.startswith("-")}
    if not names or not names <= MODULES:
        os.execv(REAL, [REAL, *arguments])
    if {"--remove", "-r"}.intersection(arguments):
        return _remove(Board(root), names)
    return driver.main(root)


def _remove(board: Board, names: set[str]) -> int:
    # A GPU daemon holds the devices open.
    if board.loaded_version and (board.is_persistent or board.has_fabric_manager):
        sys.stderr.write("modprobe: FATAL: Module nvidia is in use.\n")
        return 1
    if "nvidia" in names:
        (board.root / LOADED_VERSION_FILE).unlink(missing_ok=True)
        driver.hide(board.root)
    return 0
