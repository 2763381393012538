"""Parser of PCI devices in sysfs: identity, NUMA node and link, one line for each device.

The line is `address vendor device class numa_node speed width`; a field that sysfs does not have is `-`.
Source: kernel Documentation/ABI/testing/sysfs-bus-pci, read 2026-11-28.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..numbers import integer
from ..unreadable import Unreadable

WHERE = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d$")
_NVIDIA = "10de"
_GIGATRANSFERS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}


@dataclass(frozen=True, slots=True)
class PciDevice:
    """A device. `numa_node` is -1 if the firmware does not state it; None if sysfs does not have the file."""

    address: str
    vendor: str
    device: str
    pci_class: str
    numa_node: int | None
    generation: int | None
    width: int | None

    @property
    def is_gpu(self) -> bool:
        """Whether it is an NVIDIA GPU: class 0302, 3D controller, or 0300, display."""
        return self.vendor == _NVIDIA and self.pci_class.startswith(("0302", "0300"))

    @property
    def is_nvswitch(self) -> bool:
        """Whether it is an NVSwitch: an NVIDIA device of class 0680, bridge."""
        return self.vendor == _NVIDIA and self.pci_class.startswith("0680")


@lru_cache(maxsize=4)
def parse_pci(text: str) -> tuple[PciDevice, ...]:
    """Parse all devices; sorted by address.

    Raises:
        Unreadable: the text is empty, or a line has another form.
    """
    devices = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if len(words) != 7 or not _ADDRESS.match(words[0]) or not all(word.startswith("0x") for word in words[1:4]):
            raise Unreadable("`address vendor device class numa speed width`", line, where=WHERE)
        vendor, device, pci_class = (word.removeprefix("0x").lower() for word in words[1:4])
        devices.append(
            PciDevice(
                words[0],
                vendor,
                device,
                pci_class,
                _integer(words[4]),
                _GIGATRANSFERS.get(words[5]),
                _integer(words[6]),
            )
        )
    if not devices:
        raise Unreadable("PCI devices", text, where=WHERE)
    return tuple(sorted(devices, key=lambda each: each.address))


def _integer(word: str) -> int | None:
    return integer(word) if word.lstrip("-").isdecimal() else None


def short_address(address: str) -> str:
    """Return an address in the spelling of sysfs, from that of nvidia-smi ("00000000:1B:00.0" -> "0000:1b:00.0")."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}"
