"""Reads a node's inventory: system, GPUs, network adapters and NVMe drives.

Sources: /sys/class/dmi/id (kernel, Documentation/ABI/testing/sysfs-class-dmi), /sys/class/infiniband (fw_ver, board_id,
node_guid), /sys/class/nvme (model, serial, firmware_rev); read 2026-11-28.
"""

from __future__ import annotations

from ...facts.inventory import Inventory, gpu_parts, parse_parts
from ..model.probe import ProbeOutput
from ..model.probe_sections import parse_sections
from .commands import GPU_REPORT
from .gpu_report import gpu_report

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


def commands(*, has_gpus: bool) -> dict[str, str]:
    """Return the commands of the probe."""
    return {"parts": PARTS, **({"gpus": GPU_REPORT} if has_gpus else {})}


def inventory_of(output: ProbeOutput, *, has_gpus: bool) -> Inventory:
    """Return the inventory.

    Raises:
        Unreadable: a section is missing or has another form.
    """
    parts = list(parse_parts(parse_sections(output).text("parts")))
    parts += gpu_parts(gpu_report(output)) if has_gpus else ()
    return Inventory(tuple(sorted(parts, key=lambda part: (part.kind, part.place))))
