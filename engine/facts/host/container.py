"""Parsers of `systemd-detect-virt --container` and `systemd-detect-virt --vm`.

Source of the names: systemd-detect-virt(1), systemd 255, table "Known virtualization technologies".
"""

from __future__ import annotations

from ..unreadable import Unreadable

_CONTAINERS = frozenset(
    {"openvz", "lxc", "lxc-libvirt", "systemd-nspawn", "docker", "podman", "rkt", "wsl", "proot", "pouch"}
)


def container_of(text: str) -> str | None:
    """Return the container technology of a node; None outside a container.

    Raises:
        Unreadable: the text is not one known name.
    """
    name = text.strip()
    if name == "none":
        return None
    if name not in _CONTAINERS:
        raise Unreadable("none, or a container technology", text, where="systemd-detect-virt")
    return name


def board_owner_of(text: str) -> str | None:
    """Return the container technology or hypervisor of a node, whose host has the board; None on a physical machine.

    Args:
        text: of `systemd-detect-virt`, or `simulated` for a node with a simulated board.

    Raises:
        Unreadable: the text is not one known name.
    """
    name = text.strip()
    if name in _CONTAINERS:
        return f"a container ({name})"
    machine = None if name == "simulated" else virtual_machine_of(name)
    return f"a virtual machine ({machine})" if machine else None


_HYPERVISORS = frozenset(
    {"qemu", "kvm", "amazon", "zvm", "vmware", "microsoft", "oracle", "powervm", "xen", "bochs", "uml", "parallels"}
    | {"bhyve", "qnx", "acrn", "apple", "sre", "google"}
)


def virtual_machine_of(text: str) -> str | None:
    """Return the hypervisor of a node; None on a physical machine.

    Raises:
        Unreadable: the text is not one known name.
    """
    name = text.strip()
    if name == "none":
        return None
    if name not in _HYPERVISORS:
        raise Unreadable("none, or a hypervisor", text, where="systemd-detect-virt")
    return name
