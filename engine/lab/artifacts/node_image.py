"""Image of the nodes: Debian 12, installed with debootstrap, as squashfs in the cache.

Its name contains the digest of its recipe. The file appears only when it is complete. The image does not contain the
packages that `sovctl apply` installs from the lab's repository (chrony, nftables, python3-venv, drivers).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import digest

from .. import layout
from ..linux import mounts
from ..linux.process import run
from . import debian_mirror as mirror

PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "openssh-server",
    "python3",
    "python3-apt",
    "iproute2",
    "sudo",
    "procps",
    "kmod",
    "udev",
    "ca-certificates",
)
_MASKED = (
    "getty.target",
    "console-getty.service",
    "systemd-resolved.service",
    "systemd-networkd.service",  # the lab configures the addresses of nodes
    "systemd-networkd.socket",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
)
_RECIPE = 1  # increase it with each change of the steps below
_NO_SERVICES = (
    "#!/bin/sh\nexit 101\n"  # policy-rc.d: start no services during the creation of the image (deb-systemd-invoke(1p))
)

Progress = Callable[[str], None]


def architecture() -> str:
    """Return Debian's name of this machine's architecture."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def image_name() -> str:
    """Return the file name of the image of this version."""
    recipe = [_RECIPE, mirror.SUITE, architecture(), list(PACKAGES), list(_MASKED), layout.USER]
    return f"image-{digest(recipe)[:16]}.squashfs"


def image_file() -> Path:
    """Return the path of the image, which may not exist."""
    return layout.cache_folder() / image_name()


def ensure_image(*, mirror_uri: str | None, progress: Progress) -> Path:
    """Return the image; create it if the cache lacks it (about two minutes on two cores).

    Raises:
        LabFailure: the mirror is unreachable, or a step failed. The next call removes the temporary folder.
    """
    target = image_file()
    if target.exists():
        return target
    source = mirror.find(mirror_uri)
    folder = layout.cache_folder() / ".making-image"
    mounts.remove_tree(folder)
    folder.mkdir(parents=True)
    root = folder / "root"
    progress(f"creating the node image (Debian 12, {len(PACKAGES)} packages and their dependencies)")
    run(
        [
            "debootstrap",
            "--variant=minbase",
            f"--keyring={mirror.KEYRING}",
            f"--include={','.join(PACKAGES)}",
            mirror.SUITE,
            root,
            source.main,
        ],
        purpose="create the node image",
        environment=mirror.environment(),
    )
    _upgrade(root, source)
    _configure(root)
    pack(root, target)
    mounts.remove_tree(folder)
    return target


def pack(root: Path, target: Path) -> None:
    """Create the squashfs `target` from a tree. The file appears only when it is complete."""
    unfinished = target.with_name(f".{target.name}")
    unfinished.unlink(missing_ok=True)
    run(
        [
            "mksquashfs",
            root,
            unfinished,
            "-comp",
            "zstd",
            "-Xcompression-level",
            "6",
            "-no-progress",
            "-quiet",
            "-e",
            "var/lib/apt/lists",
            "var/cache/apt",
        ],
        purpose="create an image file",
    )
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(target)
    sync_folder(target.parent)


def within(root: Path) -> list[str]:
    """Return the command prefix that runs a command with the root folder `root`, and the network of this machine.

    Its /proc is in a separate mount namespace, so that no mount remains if this process is killed.
    """
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--root={root}", "--mount-proc", "--"]


def apt(root: Path, *words: str, purpose: str) -> str:
    """Run apt-get in `root`, with the apt settings of this machine for its mirror."""
    (root / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
    return run(
        [*within(root), "apt-get", "-q", "-y", *mirror.apt_options(), "-o", "Dpkg::Use-Pty=0", *words],
        purpose=purpose,
        environment={"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )


def prepare_apt(root: Path, source: mirror.Mirror) -> None:
    """Configure the mirror in a tree, disable the start of services, and fetch the package lists."""
    for old in (root / "etc/apt/sources.list.d").glob("*"):
        old.unlink()
    keyring = root / str(mirror.KEYRING).lstrip("/")
    keyring.parent.mkdir(parents=True, exist_ok=True)
    keyring.write_bytes(mirror.KEYRING.read_bytes())
    (root / "etc/apt/sources.list").write_text(source.sources())
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text(_NO_SERVICES)
    policy.chmod(0o755)
    apt(root, "update", purpose="fetch the package lists")


def _upgrade(root: Path, source: mirror.Mirror) -> None:
    prepare_apt(root, source)
    apt(root, "upgrade", purpose="upgrade the image")


def _configure(root: Path) -> None:
    """Configure a Debian tree as a lab node."""
    (root / "usr/sbin/policy-rc.d").unlink()
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    (root / "etc/machine-id").write_text("")  # `node.make_disk` writes one for each node
    (root / "etc/resolv.conf").write_text("")
    (root / "etc/apt/sources.list").write_text("")
    (root / "etc/apt/sources.list.d/debian.sources").write_text(
        "# The lab has no access to Debian's mirrors; sovctl apply replaces this file by the site's repository.\n"
    )
    for unit in _MASKED:
        link = root / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    run(
        ["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", layout.USER],
        purpose="add the operator's account",
    )
    sudoers = root / "etc/sudoers.d/90-sovctl-lab"
    sudoers.write_text(f"{layout.USER} ALL=(ALL) NOPASSWD: ALL\n")
    sudoers.chmod(0o440)
    (root / "etc/ssh/sshd_config.d/10-sovctl-lab.conf").write_text(
        "HostKey /etc/ssh/ssh_host_ed25519_key\nPasswordAuthentication no\nUseDNS no\n"
    )
    (root / "etc/sovctl-simulated").write_text(
        "simulated: this machine is a node of a sovctl lab. Its operating system, services, packages and network are\n"
        "real; its GPUs, NVLink, network adapters, firmware and product names are simulated.\n"
    )
