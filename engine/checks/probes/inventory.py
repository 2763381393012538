"""Reads a node's inventory: system, GPUs, network adapters and NVMe drives."""

from __future__ import annotations

from ...facts.inventory import PARTS, Inventory, gpu_parts, parse_parts
from ..model.probe import ProbeOutput
from ..model.probe_sections import parse_sections
from .commands import GPU_REPORT
from .gpu_report import gpu_report


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
