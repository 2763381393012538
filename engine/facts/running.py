"""State of a node since its last start: boot id, kernel, loaded NVIDIA module, and requests of packages for a reboot.

The running state can differ from the installed one: a new kernel or driver is installed, and the old one still runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sovctl.support.errors import SovctlError

from .hardware import firmware
from .hardware.firmware import WrittenFirmware
from .node import NodeFacts
from .numbers import integer
from .unreadable import Unreadable

BOOT_ID = "/proc/sys/kernel/random/boot_id"
MODULE_VERSION = "/sys/module/nvidia/version"
DRIVER_VERSION = "/proc/driver/nvidia/version"
REBOOT_REQUIRED = "/run/reboot-required"
REBOOT_PACKAGES = "/run/reboot-required.pkgs"
"""Written by post-installation scripts of packages on Debian and Ubuntu (update-notifier-common)."""
READ = (BOOT_ID, MODULE_VERSION, DRIVER_VERSION, REBOOT_REQUIRED, REBOOT_PACKAGES)
# /proc/stat has the boot time of the host in a container. systemd starts with the node in both cases.
COMMANDS = {
    **firmware.COMMANDS,
    "started": ("systemctl", "show", "--timestamp=unix", "--property=UserspaceTimestamp"),
    "system": ("systemctl", "is-system-running"),
}

_DRIVER = re.compile(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", re.MULTILINE)
_STARTED = re.compile(r"^UserspaceTimestamp=@(\d+)$", re.MULTILINE)
_VERSION_AND_ABI = re.compile(r"^\d[\d.]*(?:-\d[\d.]*)?[-.]?")
_KERNEL_IMAGE = re.compile(r"linux-image-(?:unsigned-)?(\d[^:]*?)(?:-unsigned)?")


@dataclass(frozen=True, slots=True)
class Running:
    """Running state of a node.

    Args:
        boot_id: changes at each start of the kernel.
        started_s: Unix time of the start of process 1.
        has_started: no start job of systemd is left.
        kernel: release, as of `uname -r`.
        nvidia_module: version of the loaded NVIDIA kernel module; None if it is not loaded.
        reboot_required: a package requests a reboot.
        reboot_packages: names of these packages, sorted; can be empty.
        firmware: that waits for its activation.
    """

    boot_id: str
    started_s: int
    has_started: bool
    kernel: str
    nvidia_module: str | None
    reboot_required: bool
    reboot_packages: tuple[str, ...]
    firmware: tuple[WrittenFirmware, ...] = ()


def running(facts: NodeFacts) -> Running:
    """Return the running state of a node.

    Raises:
        SovctlError: a value was not measured, or has an unknown format.
    """
    try:
        return _running(facts)
    except Unreadable as error:
        hint = "check this value on the node"
        raise SovctlError(error.message, where=f"node {facts.node}: {error.where}", hint=hint) from None


def _running(facts: NodeFacts) -> Running:
    boot_id = (facts.text(BOOT_ID) or "").strip()
    if not boot_id:
        raise Unreadable("a boot id", boot_id, where=BOOT_ID)
    answer = facts.answer("started")
    started = _STARTED.search(answer)
    if started is None:
        raise Unreadable("UserspaceTimestamp=@seconds", answer, where="systemctl show")
    return Running(
        boot_id=boot_id,
        started_s=integer(started[1]),
        # The exit code is 1 for every state except `running`, also for `degraded` (systemctl(1)).
        has_started=facts.answer("system", may_fail=True).strip() not in ("initializing", "starting"),
        kernel=facts.answer("kernel").strip(),
        nvidia_module=loaded_module(facts.text(MODULE_VERSION), facts.text(DRIVER_VERSION)),
        reboot_required=facts.text(REBOOT_REQUIRED) is not None,
        reboot_packages=tuple(sorted(set((facts.text(REBOOT_PACKAGES) or "").split()))),
        firmware=firmware.parse_history(facts.answer("firmware")),
    )


def loaded_module(module: str | None, driver: str | None) -> str | None:
    """Return the version of the loaded NVIDIA module from sysfs and procfs; None if it is not loaded.

    Args:
        module: text of `/sys/module/nvidia/version`; None if absent. A container has no such file.
        driver: text of `/proc/driver/nvidia/version`; None if absent.

    Raises:
        Unreadable: the texts have an unknown format, or their versions differ.
    """
    versions = set()
    if module is not None:
        versions.add(module.strip())
    if driver is not None:
        match = _DRIVER.search(driver)
        if match is None:
            raise Unreadable("NVRM version: ... VERSION", driver, where=DRIVER_VERSION)
        versions.add(match[1])
    if len(versions) > 1 or "" in versions:
        raise Unreadable("one version of the loaded module", " and ".join(sorted(versions)), where=MODULE_VERSION)
    return versions.pop() if versions else None


def installed_kernels(packages: Iterable[str]) -> tuple[str, ...]:
    """Return the releases of installed kernels, from names such as `linux-image-6.8.0-45-generic`; oldest first."""
    found = {match[1] for name in packages if (match := _KERNEL_IMAGE.fullmatch(name))}
    return tuple(sorted(found, key=_release_key))


def newest_kernel(packages: Iterable[str], kernel: str) -> str | None:
    """Return the newest installed kernel with the flavour of the running one; None if no package has it.

    Args:
        packages: names of installed packages.
        kernel: running release; `6.8.0-45-generic` has the flavour `generic`, and `6.1.0-28-amd64` has `amd64`.
    """
    same = [each for each in installed_kernels(packages) if _flavour(each) == _flavour(kernel)]
    return same[-1] if same else None


def _flavour(release: str) -> str:
    """Return the text after version and ABI number: `nvidia-64k` of `6.8.0-1031-nvidia-64k`."""
    return _VERSION_AND_ABI.sub("", release, count=1)


def _release_key(release: str) -> list[tuple[int, str]]:
    """Return a sort key that compares digits as numbers: 6.8.0-9 precedes 6.8.0-45."""
    return [(integer(word), "") if word.isdigit() else (-1, word) for word in re.findall(r"\d+|[^\d.-]+", release)]
