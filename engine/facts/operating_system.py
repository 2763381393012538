"""Parsers of a node's operating system: distribution, DGX OS release, kernel, Secure Boot, virtualization.

Sources: os-release(5); systemd-detect-virt(1); mokutil(1); UEFI 2.10, 3.3 (variable SecureBoot: 4 bytes of attributes
and one byte); /etc/dgx-release (`DGX_SWBUILD_VERSION="7.2.3"`, then one `DGX_OTA_VERSION` for each update).
A value that was not measured is UNKNOWN, and a plan that needs it refuses the node.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

from .unreadable import Unreadable

OS_RELEASE, DGX_RELEASE = "/etc/os-release", "/etc/dgx-release"
SECURE_BOOT_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_RELEASE = re.compile(r"\d+(\.\d+)*")


class Virtualization(StrEnum):
    """Kind of machine."""

    METAL = "metal"
    VM = "virtual machine"
    CONTAINER = "container"
    UNKNOWN = "unknown"


class SecureBoot(StrEnum):
    """Whether the firmware refuses unsigned kernel code."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    UNKNOWN = "unknown"


# Identifiers of systemd-detect-virt(1), table 1; every other identifier except `none` is a virtual machine.
_CONTAINERS = frozenset(
    {"openvz", "lxc", "lxc-libvirt", "systemd-nspawn", "docker", "podman", "rkt", "wsl", "proot", "pouch"}
    | {"container-other"}
)


@dataclass(frozen=True)
class OperatingSystem:
    """Operating system of a node.

    Args:
        id: of os-release, lower case, such as "ubuntu"; empty if unknown.
        version: VERSION_ID of os-release; empty if unknown.
        title: PRETTY_NAME of os-release.
        kernel: release of the running kernel.
        architecture: as `uname -m` prints it; empty if unknown.
        dgx_release: release of DGX OS after its last update; None for another system.
    """

    id: str = ""
    version: str = ""
    title: str = ""
    kernel: str = ""
    architecture: str = ""
    dgx_release: str | None = None
    secure_boot: SecureBoot = SecureBoot.UNKNOWN
    virtualization: Virtualization = Virtualization.UNKNOWN

    def __str__(self) -> str:
        if self.dgx_release is not None:
            return f"DGX OS {self.dgx_release or '(unknown release)'}"
        return self.title or " ".join(filter(None, (self.id, self.version))) or "an unknown operating system"


def parse_os_release(text: str) -> dict[str, str]:
    """Return the values of os-release(5) by name.

    Raises:
        Unreadable: a line is not an assignment.
    """
    values = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or not name.strip().isidentifier():
            raise Unreadable("`NAME=value`", line, where=OS_RELEASE)
        values[name.strip()] = _unquoted(value)
    return values


def parse_dgx_release(text: str) -> str:
    """Return the release of DGX OS: that of the last update, or of the installation.

    Raises:
        Unreadable: the text contains no release.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        found[name.strip()] = _unquoted(value)  # the last line of a name counts
    match = _RELEASE.match(found.get("DGX_OTA_VERSION") or found.get("DGX_SWBUILD_VERSION") or "")
    if match is None:
        raise Unreadable("DGX_OTA_VERSION or DGX_SWBUILD_VERSION", "neither", where=DGX_RELEASE, is_description=True)
    return match[0]


def parse_virtualization(text: str) -> Virtualization:
    """Return the kind of machine from the output of `systemd-detect-virt`."""
    word = text.strip()
    if not word:
        return Virtualization.UNKNOWN
    if word == "none":
        return Virtualization.METAL
    return Virtualization.CONTAINER if word in _CONTAINERS else Virtualization.VM


def parse_secure_boot(mokutil: str, variable: str | None) -> SecureBoot:
    """Return the state of Secure Boot.

    Args:
        mokutil: output of `mokutil --sb-state`; empty if it is not installed.
        variable: text of the EFI variable; None if it is absent, as on a machine without UEFI.
    """
    words = mokutil.strip().splitlines()[0] if mokutil.strip() else ""
    if words == "SecureBoot enabled":
        return SecureBoot.ENABLED
    if words == "SecureBoot disabled" or "EFI variables are not supported" in words:
        return SecureBoot.DISABLED
    if variable is not None and len(variable) == 5 and variable[4] in "\x00\x01":
        return SecureBoot.ENABLED if variable[4] == "\x01" else SecureBoot.DISABLED
    return SecureBoot.UNKNOWN


def _unquoted(value: str) -> str:
    try:
        words = shlex.split(value)
    except ValueError:
        return value.strip()
    return words[0] if len(words) == 1 else value.strip()
