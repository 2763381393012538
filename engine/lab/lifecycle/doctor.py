"""Whether this machine can run a lab: each thing needed, how that was found out, and what to do when it is missing.

What can be tried is tried, in throwaway namespaces, rather than guessed from a version.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.errors import MissingTool

from .. import layout
from ..artifacts import debian_mirror as mirror
from ..linux import cgroup
from ..linux.process import LabFailure, run

# Three nodes take about 0.1 GB, a CPU pool of one rank 1.6 GB (PSS of three vLLM processes, measured 2026-11-20) and a
# second rank about 0.6 more; the rest of 6 is for the gateway and the page cache. Image, packages and wheels take
# 0.9 GB in the cache (measured 2026-11-21), an installed vLLM environment 2.5 GB per GPU node; 10 leaves room for two.
MEMORY_GIB = 6
DISK_GIB = 10
_TRY_LIMIT_S = 20


@dataclass(frozen=True)
class Requirement:
    """One thing a lab needs.

    `look` returns None when it is there, else what was found instead.
    """

    name: str
    why: str
    look: Callable[[], str | None]
    remedy: str
    package: str = ""
    """The Debian package that brings it, for `--install`; empty when none does."""


@dataclass(frozen=True)
class Finding:
    """What was found of one requirement."""

    name: str
    why: str
    is_met: bool
    found: str
    remedy: str
    package: str


def _tool(command: str, package: str, why: str) -> Requirement:
    def look() -> str | None:
        # A plain user's PATH often lacks the sbin folders, where most of these live.
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        return None if shutil.which(command, path=path) else "not installed"

    return Requirement(command, why, look, f"apt-get install {package}", package)


def _tried(*command: str) -> Callable[[], str | None]:
    """Look by running a command; what it says on failure is what was found."""

    def look() -> str | None:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TRY_LIMIT_S, check=False)
        except FileNotFoundError:
            return f"cannot be tried: {command[0]} is not installed"
        except subprocess.TimeoutExpired:
            return f"no answer within {_TRY_LIMIT_S} s"
        if done.returncode == 0:
            return None
        return (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]

    return look


def _look_system() -> str | None:
    return None if shutil.which("apt-get") and shutil.which("dpkg") else "no apt-get or dpkg on this machine"


def _look_root() -> str | None:
    return None if os.geteuid() == 0 else f"user id {os.geteuid()}"


def _look_machine() -> str | None:
    machine = os.uname().machine
    return None if machine == "x86_64" else machine


def _look_file_system(name: str) -> Callable[[], str | None]:
    def look() -> str | None:
        for _ in range(2):
            if name in Path("/proc/filesystems").read_text().split():
                return None
            subprocess.run(["modprobe", "-q", name], capture_output=True, check=False)
        return "not in /proc/filesystems, and no module of that name"

    def careful() -> str | None:
        try:
            return look()
        except FileNotFoundError:
            return "not in /proc/filesystems, and there is no modprobe"

    return careful


def _look_loop() -> str | None:
    return None if Path("/dev/loop-control").exists() else "no /dev/loop-control"


def _look_cgroup() -> str | None:
    folders = cgroup.folders("sovctl-doctor")
    if not folders:
        return "neither version 2 nor the hybrid layout below /sys/fs/cgroup"
    parent = folders[0].parent
    return None if os.access(parent, os.W_OK) else f"{parent} cannot be written"


def _look_memory() -> str | None:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            gib = int(line.split()[1]) / (1 << 20)
            return None if gib >= MEMORY_GIB else f"{gib:.1f} GiB"
    return "no MemTotal in /proc/meminfo"


def _look_disk() -> str | None:
    for folder in (layout.cache_folder(), layout.Lab().state):
        place = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free_gib = shutil.disk_usage(place).free / (1 << 30)
        if free_gib < DISK_GIB:
            return f"{free_gib:.1f} GiB free at {place}"
    return None


def _look_keyring() -> str | None:
    return None if mirror.KEYRING.exists() else f"no {mirror.KEYRING}"


def _look_pip() -> str | None:
    return None if importlib.util.find_spec("pip") else f"not in {sys.prefix}"


_KERNEL = "use a kernel that has it (every Debian and Ubuntu kernel does), or another machine"
REQUIREMENTS = (
    Requirement("debian", "packages are made and installed with apt", _look_system, "use Debian 12+ or Ubuntu 22.04+"),
    Requirement("x86_64", "the CPU build of vLLM is made for it", _look_machine, "use an x86_64 machine"),
    Requirement("root", "namespaces and mounts", _look_root, "run it with sudo"),
    _tool("systemd-nspawn", "systemd-container", "boots the nodes"),
    _tool("mksquashfs", "squashfs-tools", "packs the image"),
    _tool("debootstrap", "debootstrap", "makes the image"),
    Requirement(
        "debian keyring",
        "the image's packages are checked with it",
        _look_keyring,
        "apt-get install debian-archive-keyring",
        "debian-archive-keyring",
    ),
    _tool("ip", "iproute2", "makes the network"),
    _tool("sysctl", "procps", "lets the wall forward packets"),
    _tool("nft", "nftables", "shows that the kernel can hold the nodes' firewalls"),
    _tool("ssh", "openssh-client", "reaches the nodes"),
    _tool("ssh-keygen", "openssh-client", "makes keys"),
    _tool("dpkg-deb", "dpkg", "makes the stand-in packages"),
    _tool("dpkg-scanpackages", "dpkg-dev", "indexes the repository"),
    _tool("gpg", "gpg", "signs the repository"),
    _tool("gpgconf", "gpgconf", "stops the signing agent"),
    _tool("unshare", "util-linux", "keeps the image's /proc to itself"),
    Requirement("pip", "fetches the wheels", _look_pip, f"{sys.executable} -m ensurepip"),
    Requirement("network namespaces", "every node has its own network", _tried("unshare", "--net", "true"), _KERNEL),
    Requirement(
        "bridge",
        "connects the nodes",
        _tried("unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"),
        _KERNEL,
    ),
    Requirement(
        "veth",
        "connects the nodes",
        _tried("unshare", "--net", "ip", "link", "add", "left0", "type", "veth", "peer", "name", "right0"),
        _KERNEL,
    ),
    Requirement(
        "nf_tables",
        "the nodes' firewalls",
        _tried("unshare", "--net", "nft", "add", "table", "inet", "doctor"),
        _KERNEL,
    ),
    Requirement("overlay", "a writable layer per node", _look_file_system("overlay"), _KERNEL),
    Requirement("squashfs", "the image", _look_file_system("squashfs"), _KERNEL),
    Requirement("loop devices", "the image", _look_loop, _KERNEL),
    Requirement("control groups", "keeps nodes apart, and lets none escape `down`", _look_cgroup, _KERNEL),
    Requirement("memory", f"{MEMORY_GIB} GiB for nodes and a CPU pool", _look_memory, "use a larger machine"),
    Requirement(
        "disk", f"{DISK_GIB} GiB for the cache and the nodes", _look_disk, f"free some, or set {layout.CACHE_VARIABLE}"
    ),
)


def examine() -> list[Finding]:
    """Look at every requirement; in the order of the table."""
    return [_finding(each, each.look()) for each in REQUIREMENTS]


def _finding(each: Requirement, missing: str | None) -> Finding:
    return Finding(each.name, each.why, missing is None, missing or "ok", each.remedy, each.package)


def install(findings: list[Finding], *, progress: Callable[[str], None]) -> None:
    """Install the Debian packages that would meet what is missing.

    Raises:
        LabFailure: apt could not.
    """
    packages = sorted({each.package for each in findings if not each.is_met and each.package})
    if not packages or _look_system() is not None:
        return
    progress(f"installing {', '.join(packages)}")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*sudo, "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        run(command, purpose="install what is missing", environment=quiet)
    except LabFailure:
        # Package lists may be old or absent; one refresh, then the error counts.
        run([*sudo, "apt-get", "update", "-q"], purpose="refresh the package lists", environment=quiet)
        run(command, purpose="install what is missing", environment=quiet)


def require_root() -> None:
    """Return when we may touch a lab at all.

    Raises:
        MissingTool: we are not root.
    """
    found = _look_root()
    if found:
        raise MissingTool(f"expected root, got {found}", hint="run it with sudo")


def require() -> None:
    """Return when this machine can run a lab.

    Raises:
        MissingTool: it cannot; names everything that is missing.
    """
    missing = [each for each in examine() if not each.is_met]
    if missing:
        names = ", ".join(f"{each.name} ({each.found})" for each in missing)
        raise MissingTool(f"this machine cannot run a lab; missing: {names}", hint="sovctl lab doctor --install")
