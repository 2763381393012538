"""Requirements of a lab: their checks on this machine, and the remedies for missing ones.

Kernel features are tried in temporary namespaces, instead of derived from a version.
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
from ..layout import Tier
from ..linux import cgroup
from ..linux.process import LabFailure, run
from ..vm import qemu

# Memory: three nodes need about 0.1 GB, a CPU pool with one rank 1.6 GB (PSS of three vLLM processes, measured
# 2026-11-20), a second rank 0.6 GB. The rest of 6 GiB is for the gateway and the page cache.
# Disk: image, packages and wheels need 0.9 GB in the cache (measured 2026-11-21), a vLLM environment 2.5 GB on each GPU
# node. 10 GiB is sufficient for two environments.
MEMORY_GIB = 6
DISK_GIB = 10
_COMMAND_TIMEOUT_S = 20


@dataclass(frozen=True)
class Requirement:
    """One requirement of a lab.

    `check` returns None if the requirement is met, else a description of the state found.
    """

    name: str
    why: str
    check: Callable[[], str | None]
    remedy: str
    package: str = ""
    """Debian package with it, for `--install`; empty without one."""


@dataclass(frozen=True)
class Finding:
    """Result of the check of one requirement."""

    name: str
    why: str
    is_met: bool
    found: str
    remedy: str
    package: str


def _tool(command: str, package: str, why: str) -> Requirement:
    def check() -> str | None:
        # The PATH of users other than root often lacks the sbin folders, which contain most of these tools.
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        return None if shutil.which(command, path=path) else "not installed"

    return Requirement(command, why, check, f"apt-get install {package}", package)


def _runs(*command: str) -> Callable[[], str | None]:
    """Return a check that runs a command; the last line of its error output is the state found."""

    def check() -> str | None:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_TIMEOUT_S, check=False)
        except FileNotFoundError:
            return f"cannot be tried: {command[0]} is not installed"
        except subprocess.TimeoutExpired:
            return f"timed out after {_COMMAND_TIMEOUT_S} s"
        if done.returncode == 0:
            return None
        return (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]

    return check


def _check_system() -> str | None:
    return None if shutil.which("apt-get") and shutil.which("dpkg") else "no apt-get or dpkg on this machine"


def _check_root() -> str | None:
    return None if os.geteuid() == 0 else f"user id {os.geteuid()}"


def _check_machine() -> str | None:
    machine = os.uname().machine
    return None if machine == "x86_64" else machine


def _check_file_system(name: str) -> Callable[[], str | None]:
    def search() -> str | None:
        for _ in range(2):
            if name in Path("/proc/filesystems").read_text().split():
                return None
            subprocess.run(["modprobe", "-q", name], capture_output=True, check=False)
        return "not in /proc/filesystems, and no such module"

    def check() -> str | None:
        try:
            return search()
        except FileNotFoundError:
            return "not in /proc/filesystems, and modprobe is not installed"

    return check


def _check_loop() -> str | None:
    return None if Path("/dev/loop-control").exists() else "no /dev/loop-control"


def _check_cgroup() -> str | None:
    folders = cgroup.folders("sovctl-check")
    if not folders:
        return "neither version 2 nor the hybrid layout below /sys/fs/cgroup"
    parent = folders[0].parent
    return None if os.access(parent, os.W_OK) else f"{parent} is not writable"


def _check_memory() -> str | None:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            gib = int(line.split()[1]) / (1 << 20)
            return None if gib >= MEMORY_GIB else f"{gib:.1f} GiB"
    return "no MemTotal in /proc/meminfo"


def _check_disk() -> str | None:
    for folder in (layout.cache_folder(), layout.Lab().state):
        folder_present = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free_gib = shutil.disk_usage(folder_present).free / (1 << 30)
        if free_gib < DISK_GIB:
            return f"{free_gib:.1f} GiB free at {folder_present}"
    return None


def _check_keyring() -> str | None:
    return None if mirror.KEYRING.exists() else f"no {mirror.KEYRING}"


def _check_pip() -> str | None:
    return None if importlib.util.find_spec("pip") else f"not in {sys.prefix}"


_KERNEL = "use a kernel with this feature, such as those of Debian and Ubuntu, or another machine"
REQUIREMENTS = (
    Requirement(
        "debian", "packages are created and installed with apt", _check_system, "use Debian 12+ or Ubuntu 22.04+"
    ),
    Requirement("x86_64", "the CPU build of vLLM requires it", _check_machine, "use an x86_64 machine"),
    Requirement("root", "namespaces and mounts", _check_root, "run it with sudo"),
    _tool("systemd-nspawn", "systemd-container", "boots the nodes"),
    _tool("mksquashfs", "squashfs-tools", "creates the image file"),
    _tool("debootstrap", "debootstrap", "installs the system of the image"),
    Requirement(
        "debian keyring",
        "verifies the image's packages",
        _check_keyring,
        "apt-get install debian-archive-keyring",
        "debian-archive-keyring",
    ),
    _tool("ip", "iproute2", "creates the network"),
    _tool("sysctl", "procps", "enables forwarding in the router namespace"),
    _tool("nft", "nftables", "checks that the kernel supports the nodes' firewalls"),
    _tool("ssh", "openssh-client", "connects to the nodes"),
    _tool("ssh-keygen", "openssh-client", "creates keys"),
    _tool("dpkg-deb", "dpkg", "creates the packages of simulated hardware"),
    _tool("dpkg-scanpackages", "dpkg-dev", "indexes the repository"),
    _tool("gpg", "gpg", "signs the repository"),
    _tool("gpgconf", "gpgconf", "stops the signing agent"),
    _tool("unshare", "util-linux", "isolates /proc of the image"),
    Requirement("pip", "fetches the wheels", _check_pip, f"{sys.executable} -m ensurepip"),
    Requirement("network namespaces", "every node has its own network", _runs("unshare", "--net", "true"), _KERNEL),
    Requirement(
        "bridge",
        "connects the nodes",
        _runs("unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"),
        _KERNEL,
    ),
    Requirement(
        "veth",
        "connects the nodes",
        _runs("unshare", "--net", "ip", "link", "add", "left0", "type", "veth", "peer", "name", "right0"),
        _KERNEL,
    ),
    Requirement(
        "nf_tables",
        "the nodes' firewalls",
        _runs("unshare", "--net", "nft", "add", "table", "inet", "check"),
        _KERNEL,
    ),
    Requirement("overlay", "a writable layer per node", _check_file_system("overlay"), _KERNEL),
    Requirement("squashfs", "the image", _check_file_system("squashfs"), _KERNEL),
    Requirement("loop devices", "the image", _check_loop, _KERNEL),
    Requirement("control groups", "separates nodes, and finds all their processes for `down`", _check_cgroup, _KERNEL),
    Requirement("memory", f"{MEMORY_GIB} GiB for nodes and a CPU pool", _check_memory, "use a larger machine"),
    Requirement(
        "disk",
        f"{DISK_GIB} GiB for the cache and the nodes",
        _check_disk,
        f"free disk space, or set {layout.CACHE_VARIABLE}",
    ),
)


def _check_file(path: Path) -> Callable[[], str | None]:
    return lambda: None if path.exists() else f"no {path}"


VM_REQUIREMENTS = (
    *REQUIREMENTS,
    _tool("qemu-system-x86_64", "qemu-system-x86", "emulates the virtual machine"),
    _tool("qemu-img", "qemu-utils", "creates layers over the drives"),
    Requirement("ovmf", "firmware with Secure Boot", _check_file(qemu.CODE), "apt-get install ovmf", "ovmf"),
    _tool("swtpm", "swtpm", "emulates the TPM"),
    _tool("mformat", "mtools", "creates the EFI partitions"),
    _tool("sgdisk", "gdisk", "creates the partition tables"),
    _tool("mke2fs", "e2fsprogs", "creates the root file system"),
    Requirement("tap devices", "connect the virtual machine", _check_file(Path("/dev/net/tun")), _KERNEL),
)
"""Requirements of a lab with a virtual machine."""
_TABLES = {Tier.CONTAINER: REQUIREMENTS, Tier.VM: VM_REQUIREMENTS}


def check_all(tier: Tier = Tier.CONTAINER) -> list[Finding]:
    """Return the results of all checks, in the order of the table of a tier."""
    return [_finding(each, each.check()) for each in _TABLES[tier]]


def _finding(each: Requirement, missing: str | None) -> Finding:
    return Finding(each.name, each.why, missing is None, missing or "ok", each.remedy, each.package)


def install(findings: list[Finding], *, progress: Callable[[str], None]) -> None:
    """Install the Debian packages for requirements that are not met.

    Raises:
        LabFailure: apt failed.
    """
    packages = sorted({each.package for each in findings if not each.is_met and each.package})
    if not packages or _check_system() is not None:
        return
    progress(f"installing {', '.join(packages)}")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*sudo, "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        run(command, purpose="install missing packages", environment=quiet)
    except LabFailure:
        # Package lists may be old or absent: refresh them once and retry.
        run([*sudo, "apt-get", "update", "-q"], purpose="refresh the package lists", environment=quiet)
        run(command, purpose="install missing packages", environment=quiet)


def require_root() -> None:
    """Raise if this process is not root.

    Raises:
        MissingTool: it is not.
    """
    found = _check_root()
    if found:
        raise MissingTool(f"root is required, got {found}", hint="run it with sudo")


def require(tier: Tier = Tier.CONTAINER) -> None:
    """Raise if this machine does not meet the requirements.

    Raises:
        MissingTool: the message contains all requirements that are not met.
    """
    missing = [each for each in check_all(tier) if not each.is_met]
    if missing:
        names = ", ".join(f"{each.name} ({each.found})" for each in missing)
        hint = "sovctl lab check --install" + (f" --tier {tier}" if tier is not Tier.CONTAINER else "")
        raise MissingTool(f"this machine cannot run a lab; missing: {names}", hint=hint)
