"""The parts of a node and their firmware: the identity to which a certificate is bound, and which nodes compare.

    inventory = Inventory((Part("gpu", "00000000:1b:00.0", "NVIDIA H100 80GB HBM3", "1650000000001", "96.00.99"),))
    inventory.fingerprint                  # changes with each replaced part, new firmware or other slot

Serial numbers of parts are not secret, but they identify a machine: reports for other companies replace them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sovctl.support.canonical_json import digest

from .hardware.gpu import GpuReport
from .unreadable import MALFORMED, Unreadable

_LINE = r"printf '%s\t%s\t%s\t%s\t%s\n'"
PARTS = f"""cd /sys/class || exit 1
value() {{ [ -r "$1" ] && cat "$1"; }}
d=dmi/id; {_LINE} system '' "$(value $d/sys_vendor) $(value $d/product_name)" "$(value $d/product_serial)" \
"$(value $d/bios_version)"
for d in infiniband/*; do [ -r "$d/node_guid" ] || continue
slot=$(basename "$(readlink -f "$d/device")"); [ "$slot" = device ] && slot=$(basename "$d")
{_LINE} nic "$slot" "$(value $d/hca_type) $(value $d/board_id)" "$(value $d/node_guid)" "$(value $d/fw_ver)"; done
for d in nvme/*; do [ -r "$d/serial" ] || continue
{_LINE} nvme "$(value $d/address || basename "$d")" "$(value $d/model)" "$(value $d/serial)" "$(value $d/firmware_rev)"
done; true"""
"""Shell script that prints the parts as `parse_parts` reads them. Sources: /sys/class/dmi/id (kernel,
Documentation/ABI/testing/sysfs-class-dmi), /sys/class/infiniband (fw_ver, board_id, node_guid), /sys/class/nvme (model,
serial, firmware_rev); read 2026-11-28."""
UNSET = ("", "None", "Not Specified", "To Be Filled By O.E.M.", "Default string")
"""Texts of vendors for a value that they did not set (dmidecode's FAQ and captures)."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One part.

    Args:
        kind: `system`, `gpu`, `nic` or `nvme`.
        place: PCI address or name of the device; empty for the system.
        model, serial, firmware: None if the part does not state it.
    """

    kind: str
    place: str
    model: str | None
    serial: str | None
    firmware: str | None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All parts, sorted."""

    parts: tuple[Part, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of all parts."""
        return digest([asdict(part) for part in self.parts])

    def of_kind(self, kind: str) -> tuple[Part, ...]:
        """Return the parts of a kind."""
        return tuple(part for part in self.parts if part.kind == kind)

    def incomplete(self) -> Iterator[str]:
        """Yield each value that a part does not state, such as "serial of gpu 00000000:1b:00.0"."""
        for part in self.parts:
            for name in ("model", "serial", "firmware"):
                if getattr(part, name) is None:
                    yield f"{name} of {part.kind} {part.place}".rstrip()

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps([asdict(part) for part in self.parts])

    @classmethod
    def from_json(cls, text: str) -> Inventory:
        """Parse the text of `to_json`.

        Raises:
            Unreadable: it has another form.
        """
        try:
            parts = tuple(Part(**row) for row in json.loads(text))
        except MALFORMED:
            raise Unreadable("an inventory", text, where="inventory") from None
        if not parts:
            raise Unreadable("an inventory with parts", "none", where="inventory", is_description=True)
        return cls(parts)


def gpu_parts(report: GpuReport) -> Iterator[Part]:
    """Yield a part per GPU. A GPU without a printed serial number, such as a card, is known by its UUID."""
    for gpu in report.gpus:
        serial = gpu.serial if gpu.serial not in (None, "N/A", "0") else gpu.uuid
        yield Part("gpu", (gpu.pci_bus_id or "").lower(), gpu.product, serial, gpu.vbios)


def parse_parts(text: str) -> Iterator[Part]:
    """Yield the parts of tab-separated lines: kind, place, model, serial and firmware; unset values are None.

    Raises:
        Unreadable: the text is empty, or a line has another form.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("parts of the node", text, where="inventory")
    for line in lines:
        kind, *values = line.split("\t")
        if len(values) != 4 or kind not in ("system", "nic", "nvme"):
            raise Unreadable("kind, place, model, serial and firmware", line, where="inventory")
        place, *rest = (value.strip() for value in values)
        model, serial, firmware = (None if value in UNSET else value for value in rest)
        yield Part(kind, place, model, serial, firmware)
