"""Debian packages for the lab's repository, and tools for the lab's services.

The repository contains the packages below and their dependencies that are not in the image, as apt on a node resolves
them. The tools (chronyd, ibsim, opensm) are installed into a layer over the image, which the lab's services use, so
that nothing is installed or started on this machine.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import digest

from .. import layout
from ..linux import mounts
from . import debian_mirror as mirror
from . import node_image as image
from .node_image import Progress

SITE_PACKAGES = (
    "acl",  # Ansible's `become` uses it to share files with an unprivileged user
    "chrony",
    "infiniband-diags",
    "libgomp1",
    "libnuma1",
    "libtcmalloc-minimal4",
    "nftables",
    "nginx",
    "opensm",
    "pciutils",
    "postgresql-15",
    "prometheus",
    "prometheus-alertmanager",
    "prometheus-node-exporter",
    "python3-venv",
    "rdma-core",
    "rsyslog",
    "rsyslog-gnutls",
)
TOOL_PACKAGES = ("chrony", "ibsim-utils", "infiniband-diags", "libumad2sim0", "opensm")
_RECIPE = 1  # increase it with each change of the steps below


@dataclass(frozen=True)
class Fetched:
    """Packages and tools in the cache."""

    packages: Path
    """Folder of .deb files."""
    tools: Path
    """Squashfs layer to mount over the image."""


def fetched() -> Fetched:
    """Return the paths of packages and tools, which may not exist."""
    recipe = [_RECIPE, image.image_name(), list(SITE_PACKAGES), list(TOOL_PACKAGES)]
    name = digest(recipe)[:16]
    cache = layout.cache_folder()
    return Fetched(cache / f"packages-{name}", cache / f"tools-{name}.squashfs")


def ensure_fetched(base: Path, *, mirror_uri: str | None, progress: Progress) -> Fetched:
    """Return packages and tools; fetch them if the cache lacks one of them (about half a minute).

    Args:
        base: the image.

    Raises:
        LabFailure: the mirror is unreachable, or a package cannot be resolved.
    """
    wanted = fetched()
    if wanted.packages.exists() and wanted.tools.exists():
        return wanted
    folder = layout.cache_folder() / ".fetching"
    mounts.remove_tree(folder)
    mounts.mount_image(base, folder / "image")
    root = mounts.mount_overlay(folder / "node", [folder / "image"])
    progress(f"fetching {len(SITE_PACKAGES)} Debian packages and their dependencies")
    image.prepare_apt(root, mirror.find(mirror_uri))
    pool = folder / "packages"
    download(root, SITE_PACKAGES, pool)
    image.apt(root, "install", "--no-install-recommends", *TOOL_PACKAGES, purpose="install the controller's tools")
    mounts.unmount_below(folder / "node")
    image.pack(folder / "node" / "upper", wanted.tools)
    if wanted.packages.exists():
        shutil.rmtree(wanted.packages)
    pool.rename(wanted.packages)
    sync_folder(wanted.packages.parent)
    mounts.remove_tree(folder)
    return wanted


def download(root: Path, packages: tuple[str, ...], pool: Path) -> None:
    """Download packages and their dependencies that a tree lacks, into the new folder `pool`."""
    image.apt(
        root,
        "install",
        "--download-only",
        "--no-install-recommends",
        *packages,
        purpose="fetch the packages of the lab's repository",
    )
    pool.mkdir()
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        # apt writes the colon of an epoch as %3a; file names in a repository omit the epoch (Debian policy 5.6.12).
        name, version, rest = package.name.split("_", 2)
        shutil.copy2(package, pool / f"{name}_{version.rpartition('%3a')[2]}_{rest}")
    sync_folder(pool)
