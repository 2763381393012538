"""Simulated report of a GPU in `nvidia-smi -q -x`: an outline of elements, filled with the node's facts.

All other output about a GPU is read from the same tree, so that it is consistent.
"""

from __future__ import annotations

import time
from pathlib import Path

from .board import SIMULATED, Board, Facts
from .mig import Mig

Tree = list[tuple[str, "str | Tree"]]

OUTLINE_FILE = Path(__file__).with_name("h100_report.outline")
CUDA_VERSION = "13.0"  # of driver branch 580 (captures of 580.105.08)
LOST = "GPU is lost"
# Values of a lost GPU that the real tool cannot read.
_LOST_PATHS = (
    "fb_memory_usage/",
    "utilization/gpu_util",
    "utilization/memory_util",
    "ecc_errors/volatile/dram",
    "ecc_errors/aggregate/dram",
    "remapped_rows",
    "temperature/gpu_temp",
    "temperature/gpu_temp_tlimit",
    "gpu_power_readings/average_power_draw",
    "gpu_power_readings/instant_power_draw",
    "clocks/",
    "fabric/",
)
_MEMORY_CLOCKS_MHZ = (2619, 1593)
_GRAPHICS_CLOCKS_MHZ = range(1980, 344, -15)


def values(board: Board, gpu: Facts) -> Facts:
    """Return the values of the names in the outline."""
    ecc, remapped, fabric = gpu["ecc"], gpu["remapped_rows"], gpu["fabric"]
    is_ready = board.is_fabric_up and not fabric["is_stuck"]
    bus = gpu["pci_bus_id"].split(":")[1]
    divided = {"mig_mode": "Enabled", "mig_pending": "Enabled"} if Mig(board).is_enabled(gpu) else {}
    return {
        **board.facts["model"],
        **{name: gpu[name] for name in _PLAIN},
        **(divided if gpu["mig_mode"] == "Disabled" else {}),
        "pci_bus": bus,
        "board_id": f"0x{int(bus, 16) << 8:x}",
        "driver_version": board.loaded_version,
        "persistence_mode": "Enabled" if board.is_persistent else "Disabled",
        "memory_free_mib": gpu["gpu_memory_mib"] - board.facts["model"]["memory_reserved_mib"],
        "gsp_version": gpu["gsp_version"] or board.loaded_version,
        "ecc_pending": ecc["pending"],
        **{f"ecc_{scope}_{name}": count for scope in ("volatile", "aggregate") for name, count in ecc[scope].items()},
        "ecc_mode": ecc["mode"],
        "sram_threshold_exceeded": ecc["sram_threshold_exceeded"],
        **{f"remapped_{name}": value for name, value in remapped.items()},
        "fabric_state": "Completed" if is_ready else "In Progress",
        "fabric_status": "Success" if is_ready else "N/A",
        **{f"fabric_health_{name}": value for name, value in fabric["health"].items()},
    }


_PLAIN = (
    "index",
    "uuid",
    "serial",
    "pdi",
    "module_id",
    "pci_bus_id",
    "pcie_gen",
    "pcie_width",
    "pcie_replays",
    "mig_mode",
    "recovery_action",
    "temperature_c",
    "temperature_margin_c",
    "memory_temperature_c",
    "power_draw_w",
    "hw_slowdown",
    "hw_power_brake",
    "sw_thermal_slowdown",
    "mig_pending",
    "inforom_image",
    "gpu_vbios",
    "gpu_memory_mib",
    "current_power_limit_w",
    "sm_clock_mhz",
    "boost_clock_mhz",
    "channel_repair_pending",
    "banks_without_spare",
    "hw_thermal_slowdown",
)


def report(board: Board, gpu: Facts) -> Tree:
    """Return the elements of one GPU, in the order of the real tool."""
    lines = [line for line in OUTLINE_FILE.read_text().splitlines() if line and not line.startswith("#")]
    tree, rest = _read(lines, 0, values(board, gpu), "", is_lost=gpu["is_lost"])
    assert not rest, rest
    if instances := Mig(board).instances(gpu):
        devices: Tree = [("mig_device", _mig_device(index, each["id"])) for index, each in enumerate(instances)]
        tree = [(name, devices if name == "mig_devices" else value) for name, value in tree]
    return tree


def _mig_device(index: int, instance: int) -> Tree:
    return [("index", str(index)), ("gpu_instance_id", str(instance)), ("compute_instance_id", "0")]


def _read(lines: list[str], depth: int, names: Facts, path: str, *, is_lost: bool) -> tuple[Tree, list[str]]:
    tree: Tree = []
    while lines and lines[0].startswith("  " * depth):
        name, _, value = lines[0].strip().partition(" ")
        here = f"{path}{name}"
        lines = lines[1:]
        children: Tree = []
        if lines and lines[0].startswith("  " * (depth + 1)):
            children, lines = _read(lines, depth + 1, names, f"{here}/", is_lost=is_lost)
        if is_lost and here == "remapped_rows":
            tree.append((name, LOST))
        elif children:
            tree.append((name, children))
        elif is_lost and any(here == lost or (lost[-1] in "/m" and here.startswith(lost)) for lost in _LOST_PATHS):
            tree.append((name, LOST))
        elif value.strip() == "*clocks":
            tree.append((name, _clocks()))
        else:
            tree.append((name, "" if value.strip() == "*empty" else value.strip().format_map(names)))
    return tree, lines


def _clocks() -> Tree:
    graphics: Tree = [("supported_graphics_clock", f"{mhz} MHz") for mhz in _GRAPHICS_CLOCKS_MHZ]
    return [("supported_mem_clock", [("value", f"{mhz} MHz"), *graphics]) for mhz in _MEMORY_CLOCKS_MHZ]


def flat(tree: Tree, path: str = "") -> dict[str, str]:
    """Return the values by path, such as "ecc_errors/volatile/dram_uncorrectable"."""
    found: dict[str, str] = {}
    for name, value in tree:
        if isinstance(value, str):
            found[f"{path}{name}"] = value
        else:
            found.update(flat(value, f"{path}{name}/"))
    return found


def log_xml(board: Board, gpus: list[Facts]) -> str:
    """Return the output of `nvidia-smi -q -x` for these GPUs."""
    lines = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">',
        f"<!-- {SIMULATED} -->",
        "<nvidia_smi_log>",
        f"\t<timestamp>{time.strftime('%a %b %e %H:%M:%S %Y')}</timestamp>",
        f"\t<driver_version>{board.loaded_version}</driver_version>",
        f"\t<cuda_version>{CUDA_VERSION}</cuda_version>",
        f"\t<attached_gpus>{len(board.gpus)}</attached_gpus>",
    ]
    for gpu in gpus:
        lines.append(f'\t<gpu id="{gpu["pci_bus_id"]}">')
        lines += _elements(report(board, gpu), 2)
        lines.append("\t</gpu>")
    return "\n".join([*lines, "", "</nvidia_smi_log>"])


def _elements(tree: Tree, depth: int) -> list[str]:
    indent = "\t" * depth
    lines = []
    for name, value in tree:
        if name == "mig_devices" and isinstance(value, str):
            lines += [f"{indent}<{name}>", f"{indent}\t{value}", f"{indent}</{name}>"]
        elif value == "":
            lines += [f"{indent}<{name}>", f"{indent}</{name}>"]
        elif isinstance(value, str):
            lines.append(f"{indent}<{name}>{_escape(value)}</{name}>")
        else:
            lines += [f"{indent}<{name}>", *_elements(value, depth + 1), f"{indent}</{name}>"]
    return lines


def _escape(text: str) -> str:
    """Return a text for XML. `xml.sax.saxutils` would import an HTTP client: 40 ms of each start of nvidia-smi."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
