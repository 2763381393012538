"""System of a virtual machine: a layer over the image of the containers, with kernel, boot loader, RAID and TPM tools.

The layer is a squashfs in the cache, as are the packages of the lab's repository, which apt resolves on this system.
Shim, GRUB and kernel are those of Debian, with the signatures of Microsoft and Debian.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import digest

from .. import layout
from ..artifacts import debian_mirror as mirror
from ..artifacts import node_image as image
from ..artifacts import tools
from ..artifacts.node_image import Progress
from ..linux import mounts

PACKAGES = (
    "cryptsetup-bin",
    "grub-efi-amd64-signed",
    "grub2-common",
    "initramfs-tools",
    "libtss2-esys-3.0.2-0",  # systemd loads these four at run time for a TPM (systemd-cryptenroll(1))
    "libtss2-mu0",
    "libtss2-rc0",
    "libtss2-tcti-device0",
    "linux-image-amd64",
    "mdadm",
    "mokutil",
    "nvme-cli",
    "shim-signed",
    "tpm2-tools",
    "zstd",
)
SITE_PACKAGES = (*tools.SITE_PACKAGES, "auditd")
"""Packages of the lab's repository; `sovctl apply` installs auditd only on nodes with their own kernel."""
_RECIPE = 1  # increase it with each change of the steps below


@dataclass(frozen=True)
class System:
    """Layer and packages in the cache."""

    layer: Path
    """Squashfs to mount over the image of the containers."""
    packages: Path
    """Folder of .deb files."""


def system() -> System:
    """Return the paths of layer and packages, which may not exist."""
    recipe = [_RECIPE, image.image_name(), list(PACKAGES), list(SITE_PACKAGES)]
    name = digest(recipe)[:16]
    cache = layout.cache_folder()
    return System(cache / f"vm-system-{name}.squashfs", cache / f"vm-packages-{name}")


def ensure_system(base: Path, *, mirror_uri: str | None, progress: Progress) -> System:
    """Return layer and packages; create them if the cache lacks one of them (3 minutes on a busy machine).

    Args:
        base: image of the containers.

    Raises:
        LabFailure: the mirror is unreachable, or a package cannot be resolved.
    """
    wanted = system()
    if wanted.layer.exists() and wanted.packages.exists():
        return wanted
    folder = layout.cache_folder() / ".making-vm-system"
    mounts.remove_tree(folder)
    mounts.mount_image(base, folder / "image")
    root = mounts.mount_overlay(folder / "node", [folder / "image"])
    progress(f"creating the system of virtual machines ({len(PACKAGES)} packages and their dependencies)")
    image.prepare_apt(root, mirror.find(mirror_uri))
    with _no_initramfs(root):
        image.apt(root, "install", "--no-install-recommends", *PACKAGES, purpose="install kernel and boot loader")
    image.apt(root, "clean", purpose="remove the installed packages from the download folder")
    tools.download(root, SITE_PACKAGES, folder / "packages")
    (root / "usr/sbin/policy-rc.d").unlink()
    (root / "etc/resolv.conf").write_text("")
    (root / "etc/apt/sources.list").write_text("")
    mounts.unmount_below(folder / "node")
    image.pack(folder / "node" / "upper", wanted.layer)
    if wanted.packages.exists():
        shutil.rmtree(wanted.packages)
    (folder / "packages").rename(wanted.packages)
    sync_folder(wanted.packages.parent)
    mounts.remove_tree(folder)
    return wanted


@contextmanager
def _no_initramfs(root: Path) -> Iterator[None]:
    """Install initramfs-tools, and disable it until the end. Packages would create the initramfs twice, each 1 min."""
    image.apt(root, "install", "--no-install-recommends", "initramfs-tools", purpose="install initramfs-tools")
    settings = root / "etc/initramfs-tools/update-initramfs.conf"
    packaged = settings.read_text()
    settings.write_text(packaged.replace("update_initramfs=yes", "update_initramfs=no"))
    yield
    settings.write_text(packaged)
