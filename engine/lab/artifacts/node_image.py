"""The nodes' image: Debian 12 made once with debootstrap, packed as squashfs, kept in the cache.

Its name holds the digest of its recipe, so that another recipe makes another image and an unfinished one is never
taken for whole. What a site installs (chrony, nftables, python3-venv, drivers) is not in it: `sovctl apply` brings
that from the lab's repository, like on a real site.
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
    "systemd-networkd.service",  # a node's addresses are the lab's
    "systemd-networkd.socket",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
)
_RECIPE = 1  # raise it when the steps below change
_NO_SERVICES = (
    "#!/bin/sh\nexit 101\n"  # policy-rc.d: nothing is started while the image is made (deb-systemd-invoke(1p))
)

Progress = Callable[[str], None]


def architecture() -> str:
    """Debian's name of this machine's architecture."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def image_name() -> str:
    """File name of the image that this version makes."""
    recipe = [_RECIPE, mirror.SUITE, architecture(), list(PACKAGES), list(_MASKED), layout.USER]
    return f"image-{digest(recipe)[:16]}.squashfs"


def image_file() -> Path:
    """Where the image is, or will be."""
    return layout.cache_folder() / image_name()


def ensure_image(*, mirror_uri: str | None, progress: Progress) -> Path:
    """The image, made when the cache has none (about two minutes on two cores).

    Raises:
        LabFailure: the mirror cannot be reached, or a step failed; nothing is left but a folder that the next run
            clears.
    """
    target = image_file()
    if target.exists():
        return target
    source = mirror.find(mirror_uri)
    folder = layout.cache_folder() / ".making-image"
    mounts.remove_tree(folder)
    folder.mkdir(parents=True)
    root = folder / "root"
    progress(f"making the node image (Debian 12, {len(PACKAGES)} packages and what they need)")
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
        purpose="make the node image",
        environment=mirror.environment(),
    )
    _bring_up_to_date(root, source)
    _shape(root)
    pack(root, target)
    mounts.remove_tree(folder)
    return target


def pack(root: Path, target: Path) -> None:
    """Pack a tree as `target`, which appears only when it is whole."""
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
        purpose="pack an image",
    )
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(target)
    sync_folder(target.parent)


def within(root: Path) -> list[str]:
    """The words before a command that is to run with `root` as its root, with this machine's network.

    Its /proc lives in a mount namespace of its own, so that nothing stays mounted when we are killed.
    """
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--root={root}", "--mount-proc", "--"]


def apt(root: Path, *words: str, purpose: str) -> str:
    """Run apt-get in `root`, with this machine's way to the mirror."""
    (root / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
    return run(
        [*within(root), "apt-get", "-q", "-y", *mirror.apt_options(), "-o", "Dpkg::Use-Pty=0", *words],
        purpose=purpose,
        environment={"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )


def prepare_apt(root: Path, source: mirror.Mirror) -> None:
    """Point a tree at the mirror, start no services in it, and fetch the package lists."""
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


def _bring_up_to_date(root: Path, source: mirror.Mirror) -> None:
    prepare_apt(root, source)
    apt(root, "upgrade", purpose="bring the image up to date")


def _shape(root: Path) -> None:
    """What makes it a lab node rather than a bare Debian."""
    (root / "usr/sbin/policy-rc.d").unlink()
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    (root / "etc/machine-id").write_text("")  # every node gets its own
    (root / "etc/resolv.conf").write_text("")
    (root / "etc/apt/sources.list").write_text("")
    (root / "etc/apt/sources.list.d/debian.sources").write_text(
        "# The lab has no way to Debian's mirrors; sovctl apply replaces this file by the site's repository.\n"
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
        "real; its GPUs, NVLink, network adapters, firmware and product names are stand-ins without hardware.\n"
    )
