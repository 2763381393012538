"""Packages of simulated GPU software, with the names, versions and dependencies of the real packages.

They are built reproducibly with dpkg-deb, in all versions of the lab. Description and files contain `simulated`. Fabric
manager does not depend on a driver version, as the real package, so that their versions can differ.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import digest
from sovctl.support.package_files import package_folder

from .. import layout
from ..linux import mounts
from ..linux.process import run

STANDINS = package_folder("engine/lab/standins").resolve()
HOME = "usr/lib/sovctl-lab"
MODULES = f"{HOME}/sovctl/engine/lab/standins"
UNITS = "usr/lib/systemd/system"
DRIVER_UNIT = "sovctl-lab-driver.service"
DRIVER_VERSIONS = ("580.126.20", "580.173.02")
DCGM_VERSIONS = {"4.5.2": "4.8.1", "4.6.0": "4.8.3"}
"""Version of the exporter by that of DCGM."""
DCGM_PLUGINS = "usr/libexec/datacenter-gpu-manager-4/plugins/cuda13"
TOOLKIT_VERSION = "1.19.0"
_EPOCH_S = 1_767_225_600  # 2026-01-01T00:00:00Z, the time of all files, for reproducible builds
_MAINTAINER = "sovctl lab <lab@sovctl.example>"
_NOTICE = (
    "simulated: a package of the sovctl lab with the name and version of a real package, and none of its contents."
)

_PROGRAM = """\
#!/usr/bin/python3 -ISB
# {notice}
import signal
import sys

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `nvidia-smi | head` exits without error
sys.path.insert(0, "/usr/lib/sovctl-lab")
from sovctl.engine.lab.standins.{module} import {function}

sys.exit({function}({arguments}))
"""
_DAEMON_UNIT = """\
[Unit]
Description={description} (simulated by the sovctl lab)
After=sovctl-lab-driver.service
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=/usr/bin/{program}

[Install]
WantedBy=multi-user.target
"""
_DRIVER_UNIT_TEXT = """\
[Unit]
Description=Load the NVIDIA kernel module (simulated by the sovctl lab)
After=sovctl-lab-board.service
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/sovctl-lab/load-driver
"""
# Packaged daemons restart after an upgrade if they run or are enabled (as by dh_installsystemd). A failed start, for
# example of fabric manager with another driver, does not fail the installation.
_AFTER_INSTALL = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
{steps}
"""
_BEFORE_REMOVAL = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then {steps}; fi
"""
_DIVERT = "dpkg-divert --quiet --package {name} --rename --divert /{home}/real/{program} --{action} /{path}"
_BEFORE_INSTALL = """\
#!/bin/sh
set -e
mkdir -p /{home}/real
{steps}
"""
_AFTER_REMOVAL = """\
#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
{steps}
"""
_RESTART = """\
if systemctl -q is-active {unit} || systemctl -q is-enabled {unit} 2>/dev/null; then
  systemctl restart {unit} || true
fi"""
_ENABLE = "systemctl -q enable {unit}; systemctl restart {unit} || true"


@dataclass(frozen=True)
class StandIn:
    """One package in one version.

    `files` and `modules` are installed below /. Each of `programs` calls a function of a module.
    """

    name: str
    version: str
    """Debian version, with epoch and revision."""
    summary: str
    depends: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Files of `standins/`."""
    programs: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """(module, function, arguments) by path."""
    files: dict[str, str] = field(default_factory=dict)
    """Text by path."""
    links: dict[str, str] = field(default_factory=dict)
    """Target by path."""
    diverted: tuple[str, ...] = ()
    """Paths of `programs` that replace programs of other packages; these are kept in `HOME`/real."""
    after_install: str = ""
    before_removal: str = ""

    @property
    def file_name(self) -> str:
        """File name in a repository, without the epoch of the version."""
        return f"{self.name}_{self.version.rpartition(':')[2]}_amd64.deb"


def packages() -> list[StandIn]:
    """Return all packages in all versions."""
    found = []
    for upstream in DRIVER_VERSIONS:
        found += _driver_family(upstream)
    for upstream, exporter in DCGM_VERSIONS.items():
        found += [_dcgm(upstream), _dcgm_exporter(exporter)]
    return found + _toolkit(f"{TOOLKIT_VERSION}-1")


def _toolkit(version: str) -> list[StandIn]:
    """Return the packages of the container toolkit. Of their programs only nvidia-ctk is simulated."""
    return [
        StandIn("libnvidia-container1", version, "NVIDIA container runtime library"),
        StandIn(
            "libnvidia-container-tools",
            version,
            "NVIDIA container runtime library, tools",
            depends=(f"libnvidia-container1 (>= {version})",),
        ),
        StandIn(
            "nvidia-container-toolkit-base",
            version,
            "NVIDIA container toolkit, base",
            modules=("container_toolkit.py",),
            programs={"usr/bin/nvidia-ctk": ("container_toolkit", "main", f'sys.argv[1:], "{TOOLKIT_VERSION}"')},
        ),
        StandIn(
            "nvidia-container-toolkit",
            version,
            "NVIDIA container toolkit",
            depends=(f"nvidia-container-toolkit-base (= {version})", f"libnvidia-container-tools (>= {version})"),
        ),
    ]


def _driver_family(upstream: str) -> list[StandIn]:
    version = f"{upstream}-1"
    own = f'sys.argv[1:], "{upstream}"'
    return [
        StandIn(
            "nvidia-open",
            version,
            "NVIDIA driver metapackage, open kernel modules",
            depends=(f"nvidia-kernel-open-dkms (= {version})", f"nvidia-driver-cuda (= {version})"),
        ),
        StandIn(
            "nvidia-kernel-open-dkms",
            version,
            "NVIDIA open kernel modules",
            modules=("driver.py", "kernel.py", "modprobe.py", "dmi.py", "ipmi.py"),
            programs={
                f"{HOME}/load-driver": ("driver", "main", ""),
                # This folder precedes that of the real modprobe in the search path of root.
                "usr/local/sbin/modprobe": ("modprobe", "main", "sys.argv[1:]"),
                "sbin/modinfo": ("kernel", "modinfo", "sys.argv[1:]"),
                "sbin/lsmod": ("kernel", "print_modules", ""),
                "bin/dmesg": ("kernel", "print_messages", ""),
                "usr/sbin/dmidecode": ("dmi", "main", "sys.argv[1:]"),
                "usr/bin/ipmitool": ("ipmi", "main", "sys.argv[1:]"),
            },
            # The search path of probes has the folders of packages only. The paths are those of kmod, util-linux,
            # dmidecode and ipmitool.
            diverted=("sbin/modinfo", "sbin/lsmod", "bin/dmesg", "usr/sbin/dmidecode", "usr/bin/ipmitool"),
            files={f"{HOME}/module-version": f"{upstream}\n", f"{UNITS}/{DRIVER_UNIT}": _DRIVER_UNIT_TEXT},
            links={f"{UNITS}/multi-user.target.wants/{DRIVER_UNIT}": f"../{DRIVER_UNIT}"},
            after_install=f"systemctl restart {DRIVER_UNIT}",
            before_removal=f"rm -f /{HOME}/module-version; systemctl restart {DRIVER_UNIT} || true",
        ),
        StandIn(
            "nvidia-driver-cuda",
            version,
            "NVIDIA driver user space for computing, with nvidia-smi",
            depends=(f"nvidia-kernel-open-dkms (= {version})", f"nvidia-persistenced (= {version})"),
            modules=(
                *("nvidia_smi.py", "smi_query.py", "smi_report.py", "smi_text.py", "mig.py", "h100_report.outline"),
                *("nccl_tests.py", "perftest.py"),
            ),
            programs={
                "usr/bin/nvidia-smi": ("nvidia_smi", "main", "sys.argv[1:]"),
                # No package of the lock contains these; a site installs them itself.
                "usr/bin/all_reduce_perf": ("nccl_tests", "main", "sys.argv[1:]"),
                "usr/bin/ib_write_bw": ("perftest", "write_bw", "sys.argv[1:]"),
                "usr/bin/ib_write_lat": ("perftest", "write_lat", "sys.argv[1:]"),
            },
            files={f"{HOME}/library-version": f"{upstream}\n"},
        ),
        _daemon(
            StandIn(
                "nvidia-persistenced",
                version,
                "NVIDIA persistence daemon",
                modules=("persistenced.py",),
                programs={"usr/bin/nvidia-persistenced": ("persistenced", "main", own)},
            ),
            unit="nvidia-persistenced.service",
            program="nvidia-persistenced",
            is_enabled=True,
        ),
        _daemon(
            StandIn(
                "nvidia-fabricmanager",
                version,
                "NVIDIA fabric manager for NVSwitch systems",
                modules=("fabricmanager.py",),
                programs={"usr/bin/nv-fabricmanager": ("fabricmanager", "main", own)},
                files={"usr/share/nvidia/nvswitch/fabricmanager.cfg": f"# {_NOTICE}\nFABRIC_MODE=0\n"},
            ),
            unit="nvidia-fabricmanager.service",
            program="nv-fabricmanager",
            is_enabled=False,
        ),
        StandIn("libnvidia-nscq", version, "NVIDIA NVSwitch configuration and query library"),
    ]


def _dcgm(upstream: str) -> StandIn:
    own = f'sys.argv[1:], "{upstream}"'
    package = StandIn(
        "datacenter-gpu-manager-4-cuda13",
        f"1:{upstream}-1",
        "NVIDIA data center GPU manager",
        modules=("dcgm.py", "dcgm_diagnostic.py", "nvbandwidth.py"),
        programs={
            "usr/bin/dcgmi": ("dcgm", "dcgmi", own),
            "usr/bin/nv-hostengine": ("dcgm", "host_engine", own),
            f"{DCGM_PLUGINS}/nvbandwidth": ("nvbandwidth", "main", "sys.argv[1:]"),
        },
    )
    return _daemon(package, unit="nvidia-dcgm.service", program="nv-hostengine", is_enabled=False)


def _dcgm_exporter(upstream: str) -> StandIn:
    package = StandIn(
        "datacenter-gpu-manager-exporter",
        f"{upstream}-1",
        "NVIDIA DCGM exporter for Prometheus",
        depends=("datacenter-gpu-manager-4-cuda13",),
        modules=("dcgm_exporter.py",),
        programs={"usr/bin/dcgm-exporter": ("dcgm_exporter", "main", f'sys.argv[1:], "{upstream}"')},
    )
    return _daemon(package, unit="nvidia-dcgm-exporter.service", program="dcgm-exporter", is_enabled=False)


def _daemon(package: StandIn, *, unit: str, program: str, is_enabled: bool) -> StandIn:
    """Return the package with a unit for its daemon, enabled at installation as by the real package."""
    text = _DAEMON_UNIT.format(description=package.summary, program=program)
    return replace(
        package,
        files={**package.files, f"{UNITS}/{unit}": text},
        after_install=(_ENABLE if is_enabled else _RESTART).format(unit=unit),
        before_removal=f"systemctl -q disable --now {unit} || true",
    )


def contents(package: StandIn) -> dict[str, tuple[bytes, int]]:
    """Return the files of a package: content and permission bits by path."""
    files: dict[str, tuple[bytes, int]] = {}
    for name in package.modules:
        files[f"{MODULES}/{name}"] = ((STANDINS / name).read_bytes(), 0o644)
    for path, (module, function, arguments) in package.programs.items():
        text = _PROGRAM.format(notice=_NOTICE, module=module, function=function, arguments=arguments)
        files[path] = (text.encode(), 0o755)
    for path, text in package.files.items():
        files[path] = (text.encode(), 0o644)
    files[f"usr/share/doc/{package.name}/README.simulated"] = (f"{_NOTICE}\n".encode(), 0o644)
    return files


def control(package: StandIn) -> dict[str, tuple[str, int]]:
    """Return the files of the DEBIAN folder of a package."""
    fields = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": "amd64",
        "Maintainer": _MAINTAINER,
        "Section": "non-free/kernel",
        "Priority": "optional",
        "Depends": ", ".join((*package.depends, "python3")),
        "Description": f"simulated: {package.summary}\n {_NOTICE}",
    }
    sums = {path: hashlib.md5(data, usedforsecurity=False).hexdigest() for path, (data, _) in contents(package).items()}
    files = {
        "control": ("".join(f"{name}: {value}\n" for name, value in fields.items()), 0o644),
        "md5sums": ("".join(f"{sums[path]}  {path}\n" for path in sorted(sums)), 0o644),  # for dpkg --verify
    }
    if package.diverted:
        files["preinst"] = (_BEFORE_INSTALL.format(home=HOME, steps=_diversions(package, "add")), 0o755)
        files["postrm"] = (_AFTER_REMOVAL.format(steps=_diversions(package, "remove")), 0o755)
    if package.after_install:
        files["postinst"] = (_AFTER_INSTALL.format(steps=package.after_install), 0o755)
    if package.before_removal:
        files["prerm"] = (_BEFORE_REMOVAL.format(steps=package.before_removal), 0o755)
    return files


def _diversions(package: StandIn, action: str) -> str:
    return "\n".join(
        _DIVERT.format(name=package.name, home=HOME, program=Path(path).name, action=action, path=path)
        for path in package.diverted
    )


def set_digest() -> str:
    """Return a digest of all packages, 16 hex digits."""
    described = [
        [
            package.name,
            {path: data.hex() for path, (data, _) in contents(package).items()},
            package.links,
            {name: text for name, (text, _) in control(package).items()},
        ]
        for package in packages()
    ]
    return digest([_EPOCH_S, described])[:16]


def ensure_packages() -> Path:
    """Return the folder with all packages; build them if the cache lacks it."""
    target = layout.cache_folder() / f"standins-{set_digest()}"
    if target.exists():
        return target
    folder = layout.cache_folder() / ".making-standins"
    mounts.remove_tree(folder)
    (folder / "pool").mkdir(parents=True)
    for package in packages():
        build(package, folder / "tree" / package.file_name, folder / "pool")
    (folder / "pool").rename(target)
    sync_folder(target.parent)
    mounts.remove_tree(folder)
    return target


def build(package: StandIn, tree: Path, pool: Path) -> Path:
    """Write the files of a package to `tree`, and return its .deb file, built in `pool`."""
    for path, (data, mode) in contents(package).items():
        _write(tree / path, data, mode)
    for name, (text, mode) in control(package).items():
        _write(tree / "DEBIAN" / name, text.encode(), mode)
    for path, link_target in package.links.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).symlink_to(link_target)
    target = pool / package.file_name
    run(
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, target],
        purpose=f"build the simulated package {package.name}",
        environment={"SOURCE_DATE_EPOCH": str(_EPOCH_S)},
    )
    return target


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
