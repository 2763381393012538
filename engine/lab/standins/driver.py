"""Simulated loading and unloading of the kernel module.

Loading creates /proc/driver/nvidia/version and records the loaded version. As on a real node, the installation of a
driver loads its module only if none is loaded. A loaded module of another version stays until the node reboots or the
module is reloaded, and nvidia-smi reports the mismatch.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .board import LOADED_VERSION_FILE, SIMULATED, Board

PROC_FOLDER = "proc/driver"


def wanted_version(board: Board) -> str | None:
    """Return the version to load; None to load no module."""
    driver = board.facts.get("driver", {})
    if not board.gpus or not driver.get("loads", False):
        return None
    return board.loaded_version or board.module_version


def version_text(version: str, *, is_open: bool = True) -> str:
    """Return the content of /proc/driver/nvidia/version."""
    kind = "Open Kernel" if is_open else "Kernel"
    return (
        f"NVRM version: NVIDIA UNIX {kind} Module for x86_64  {version}  Release Build  ({SIMULATED})\n"
        f"GCC version:  none, {SIMULATED}\n"
    )


def gpu_files(board: Board) -> dict[str, str]:
    """Return the files of the GPUs below /proc/driver/nvidia/gpus: content by path."""
    return {
        f"{gpu['pci_bus_id'].lower().removeprefix('0000')}/information": (
            f"Model: \t\t {board.facts['model']['product_name']}\n"
            "IRQ:   \t\t 0\n"
            f"GPU UUID: \t {gpu['kernel_uuid'] or gpu['uuid']}\n"
            f"Video BIOS: \t {gpu['gpu_vbios']}\n"
            "Bus Type: \t PCIe\n"
            f"Bus Location: \t {gpu['pci_bus_id'].lower().removeprefix('0000')}\n"
            f"Device Minor: \t {gpu['index']}\n"
        )
        for gpu in board.gpus
    }


def main(root: Path = Path("/")) -> int:
    """Load or unload the module according to the installed version and the facts. Return the exit code, 0."""
    board = Board(root)
    before, version = board.loaded_version, wanted_version(board)
    shown, record = root / PROC_FOLDER / "nvidia", root / LOADED_VERSION_FILE
    if version is None:
        hide(root)
        record.unlink(missing_ok=True)
    else:
        if _make_writable(root / PROC_FOLDER):
            shown.mkdir(exist_ok=True)
            (shown / "version").write_text(version_text(version, is_open=board.facts["driver"]["is_open"]))
            shutil.rmtree(shown / "gpus", ignore_errors=True)
            for path, content in gpu_files(board).items():
                (shown / "gpus" / path).parent.mkdir(parents=True, exist_ok=True)
                (shown / "gpus" / path).write_text(content)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(version + "\n")
    if version is not None and before != version:
        _restart_daemons()
    return 0


def hide(root: Path) -> None:
    """Remove /proc/driver/nvidia, as the unloading of the module does."""
    shutil.rmtree(root / PROC_FOLDER / "nvidia", ignore_errors=True)


def _make_writable(folder: Path) -> bool:
    """Mount a tmpfs on a folder of /proc, so that files can be created.

    Returns:
        False if the kernel has no such folder.
    """
    if not folder.is_dir():
        return False
    try:
        (folder / ".sovctl-lab").touch()
    except OSError:
        options = ["-o", "mode=0755,size=256k"]
        subprocess.run(["mount", "-t", "tmpfs", *options, "sovctl-lab", str(folder)], check=True, timeout=10)
    return True


def _restart_daemons() -> None:
    """Restart the daemons that use the driver, which have failed without a loaded module."""
    for unit in ("nvidia-persistenced.service", "nvidia-fabricmanager.service"):
        is_enabled = (
            subprocess.run(["systemctl", "--quiet", "is-enabled", unit], check=False, timeout=10).returncode == 0
        )
        word = "restart" if is_enabled else "try-restart"
        subprocess.run(["systemctl", "--no-block", word, unit], check=False, timeout=10)
