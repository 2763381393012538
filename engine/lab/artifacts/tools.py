"""What is fetched from Debian beyond the image, in one go: packages for the lab's repository, and the controller's
own tools.

The repository gets the packages below and whatever they need on top of the image, as the node itself would resolve
it. The tools (a real chronyd, a simulated InfiniBand fabric with a real subnet manager) are installed into a layer
that the lab's services run from, so that nothing is installed on, and no service started on, this machine.
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
    "acl",  # Ansible's `become` hands files to an unprivileged user with it
    "chrony",
    "infiniband-diags",
    "libgomp1",
    "libnuma1",
    "libtcmalloc-minimal4",
    "nftables",
    "opensm",
    "pciutils",
    "python3-venv",
    "rdma-core",
)
TOOL_PACKAGES = ("chrony", "ibsim-utils", "infiniband-diags", "libumad2sim0", "opensm")
_RECIPE = 1  # raise it when the steps below change


@dataclass(frozen=True)
class Fetched:
    """What the cache holds."""

    packages: Path
    """Folder of .deb files."""
    tools: Path
    """Squashfs layer for over the image."""


def fetched() -> Fetched:
    """Where the two are, or will be."""
    recipe = [_RECIPE, image.image_name(), list(SITE_PACKAGES), list(TOOL_PACKAGES)]
    name = digest(recipe)[:16]
    cache = layout.cache_folder()
    return Fetched(cache / f"packages-{name}", cache / f"tools-{name}.squashfs")


def ensure_fetched(base: Path, *, mirror_uri: str | None, progress: Progress) -> Fetched:
    """The packages and the tools, fetched when the cache lacks either (about half a minute).

    Args:
        base: the image.

    Raises:
        LabFailure: the mirror cannot be reached, or a package cannot be resolved.
    """
    wanted = fetched()
    if wanted.packages.exists() and wanted.tools.exists():
        return wanted
    folder = layout.cache_folder() / ".fetching"
    mounts.remove_tree(folder)
    mounts.mount_image(base, folder / "image")
    root = mounts.mount_overlay(folder / "node", [folder / "image"])
    progress(f"fetching {len(SITE_PACKAGES)} Debian packages and what they need")
    image.prepare_apt(root, mirror.find(mirror_uri))
    image.apt(
        root,
        "install",
        "--download-only",
        "--no-install-recommends",
        *SITE_PACKAGES,
        purpose="fetch the packages of the lab's repository",
    )
    pool = folder / "packages"
    pool.mkdir()
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        # apt writes an epoch's colon as %3a; the name in a repository leaves the epoch out (Debian policy 5.6.12).
        name, version, rest = package.name.split("_", 2)
        shutil.copy2(package, pool / f"{name}_{version.rpartition('%3a')[2]}_{rest}")
    sync_folder(pool)
    image.apt(root, "install", "--no-install-recommends", *TOOL_PACKAGES, purpose="install the controller's tools")
    mounts.unmount_below(folder / "node")
    image.pack(folder / "node" / "upper", wanted.tools)
    if wanted.packages.exists():
        shutil.rmtree(wanted.packages)
    pool.rename(wanted.packages)
    sync_folder(wanted.packages.parent)
    mounts.remove_tree(folder)
    return wanted
