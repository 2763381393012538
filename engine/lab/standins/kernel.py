"""Simulated views of the kernel: lsmod and modinfo of the driver, and the messages about the simulated hardware.

A node of the lab shares the kernel of its machine, whose modules and messages are not those of the simulated hardware.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .board import SIMULATED, Board

KMOD = "/usr/bin/kmod"
"""The real modinfo is a link to this program, which acts by the name it is called with."""
MODULES = ("nvidia_uvm", "nvidia_modeset", "nvidia", "mlx5_ib", "ib_umad", "ib_uverbs", "ib_core", "mlx5_core")
_DRIVER = "nvidia"


def lsmod(board: Board) -> list[str]:
    """Return the lines of `lsmod`."""
    driver = board.facts["driver"]
    names = [*MODULES, *driver["extra_modules"]]
    shown = [
        name
        for name in names
        if name not in driver["missing_modules"] and (board.loaded_version or not name.startswith(_DRIVER))
    ]
    return ["Module                  Size  Used by", *(f"{name:<20}{16384:>9}  0" for name in shown)]


def messages(board: Board) -> list[str]:
    """Return the lines of `dmesg`; the first one begins every boot."""
    first = f"[    0.000000] Linux version 6.1.0-0 ({SIMULATED})"
    loaded = f"[   12.000000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {board.loaded_version or 'none'}"
    return [first, loaded, *(f"[{600 + at:>5}.000000] {text}" for at, text in enumerate(board.facts["kernel_log"]))]


def print_modules(root: Path = Path("/")) -> int:
    """Run lsmod. Return the exit code, 0."""
    return _print(lsmod(Board(root)))


def print_messages(root: Path = Path("/")) -> int:
    """Run dmesg. Return the exit code, 0."""
    return _print(messages(Board(root)))


def modinfo(arguments: list[str], root: Path = Path("/")) -> int:
    """Run modinfo: `-F version nvidia` is simulated, other arguments are passed to the real program."""
    if arguments != ["-F", "version", _DRIVER]:
        os.execv(KMOD, ["modinfo", *arguments])
    board = Board(root)
    version = board.facts["driver"]["installed_version"] or board.module_version
    if version is None:
        sys.stderr.write("modinfo: ERROR: Module nvidia not found.\n")
        return 1
    return _print([version])


def _print(lines: list[str]) -> int:
    print("\n".join(lines))  # noqa: T201 - this is a program
    return 0
