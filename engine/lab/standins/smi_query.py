"""Simulated `nvidia-smi --query-gpu=...`: columns by name, read from the report."""

from __future__ import annotations

from dataclasses import dataclass

from .board import Board, Facts
from .smi_report import flat, report

_CORRECTED = ("sram_correctable", "dram_correctable")
_UNCORRECTED = ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable")


def _total(scope: str, counters: tuple[str, ...]) -> str:
    return "+".join(f"ecc_errors/{scope}/{counter}" for counter in counters)


# Path in the report and unit in the heading, by column name. "+" adds the values of several paths. A name in brackets
# is a value of the node, which is not in the report.
COLUMNS: dict[str, tuple[str, str]] = {
    "timestamp": ("[timestamp]", ""),
    "driver_version": ("[driver_version]", ""),
    "count": ("[count]", ""),
    "index": ("minor_number", ""),
    "name": ("product_name", ""),
    "gpu_name": ("product_name", ""),
    "serial": ("serial", ""),
    "gpu_serial": ("serial", ""),
    "uuid": ("uuid", ""),
    "gpu_uuid": ("uuid", ""),
    "pci.bus_id": ("pci/pci_bus_id", ""),
    "gpu_bus_id": ("pci/pci_bus_id", ""),
    "pci.device_id": ("pci/pci_device_id", ""),
    "vbios_version": ("vbios_version", ""),
    "gsp.mode.current": ("[enabled]", ""),
    "persistence_mode": ("persistence_mode", ""),
    "pstate": ("performance_state", ""),
    "compute_mode": ("compute_mode", ""),
    "compute_cap": ("[compute_cap]", ""),
    "mig.mode.current": ("mig_mode/current_mig", ""),
    "mig.mode.pending": ("mig_mode/pending_mig", ""),
    "memory.total": ("fb_memory_usage/total", "MiB"),
    "memory.reserved": ("fb_memory_usage/reserved", "MiB"),
    "memory.used": ("fb_memory_usage/used", "MiB"),
    "memory.free": ("fb_memory_usage/free", "MiB"),
    "utilization.gpu": ("utilization/gpu_util", "%"),
    "utilization.memory": ("utilization/memory_util", "%"),
    "temperature.gpu": ("temperature/gpu_temp", ""),
    "temperature.gpu.tlimit": ("temperature/gpu_temp_tlimit", ""),
    "temperature.memory": ("temperature/memory_temp", ""),
    "power.draw": ("gpu_power_readings/average_power_draw", "W"),
    "power.draw.average": ("gpu_power_readings/average_power_draw", "W"),
    "power.draw.instant": ("gpu_power_readings/instant_power_draw", "W"),
    "power.limit": ("gpu_power_readings/current_power_limit", "W"),
    "power.default_limit": ("gpu_power_readings/default_power_limit", "W"),
    "power.max_limit": ("gpu_power_readings/max_power_limit", "W"),
    "clocks.current.graphics": ("clocks/graphics_clock", "MHz"),
    "clocks.gr": ("clocks/graphics_clock", "MHz"),
    "clocks.sm": ("clocks/sm_clock", "MHz"),
    "clocks.mem": ("clocks/mem_clock", "MHz"),
    "clocks.max.sm": ("max_clocks/sm_clock", "MHz"),
    "clocks.max.mem": ("max_clocks/mem_clock", "MHz"),
    "clocks_event_reasons.hw_slowdown": ("clocks_event_reasons/clocks_event_reason_hw_slowdown", ""),
    "clocks_event_reasons.hw_thermal_slowdown": ("clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", ""),
    "pcie.link.gen.current": ("pci/pci_gpu_link_info/pcie_gen/current_link_gen", ""),
    "pcie.link.gen.max": ("pci/pci_gpu_link_info/pcie_gen/max_link_gen", ""),
    "pcie.link.width.current": ("pci/pci_gpu_link_info/link_widths/current_link_width", ""),
    "pcie.link.width.max": ("pci/pci_gpu_link_info/link_widths/max_link_width", ""),
    "ecc.mode.current": ("ecc_mode/current_ecc", ""),
    "ecc.mode.pending": ("ecc_mode/pending_ecc", ""),
    "ecc.errors.uncorrected.volatile.dram": ("ecc_errors/volatile/dram_uncorrectable", ""),
    "ecc.errors.uncorrected.aggregate.dram": ("ecc_errors/aggregate/dram_uncorrectable", ""),
    "ecc.errors.corrected.volatile.total": (_total("volatile", _CORRECTED), ""),
    "ecc.errors.uncorrected.volatile.total": (_total("volatile", _UNCORRECTED), ""),
    "ecc.errors.uncorrected.aggregate.total": (_total("aggregate", _UNCORRECTED), ""),
    "fabric.state": ("fabric/state", ""),
    "fabric.status": ("fabric/status", ""),
    "remapped_rows.correctable": ("remapped_rows/remapped_row_corr", ""),
    "remapped_rows.uncorrectable": ("remapped_rows/remapped_row_unc", ""),
    "remapped_rows.pending": ("remapped_rows/remapped_row_pending", ""),
    "remapped_rows.failure": ("remapped_rows/remapped_row_failure", ""),
}


@dataclass(frozen=True)
class Format:
    """Options of --format."""

    has_header: bool
    has_units: bool

    @classmethod
    def parse(cls, text: str) -> Format | None:
        """Return the options; None for another format than csv, which is the only one."""
        words = text.split(",")
        return cls("noheader" not in words, "nounits" not in words) if "csv" in words else None


def query(board: Board, gpus: list[Facts], names: list[str], form: Format, *, now: str) -> list[str]:
    """Return the lines of a query.

    Raises:
        KeyError: a column is not simulated.
    """
    columns = [(name, *COLUMNS[name]) for name in names]
    lines = []
    if form.has_header:
        lines.append(", ".join(f"{name} [{unit}]" if unit and form.has_units else name for name, _, unit in columns))
    for gpu in gpus:
        leaves = flat(report(board, gpu))
        of_node = {
            "[timestamp]": now,
            "[driver_version]": board.loaded_version or "",
            "[count]": str(len(board.gpus)),
            "[enabled]": "Enabled",
            "[compute_cap]": board.facts["model"]["compute_capability"],
        }
        cells = [_cell({**leaves, **of_node}, path) for _, path, _ in columns]
        lines.append(", ".join(_bare(cell, unit, form) for cell, (_, _, unit) in zip(cells, columns, strict=True)))
    return lines


def _cell(leaves: dict[str, str], path: str) -> str:
    if path.startswith("remapped_rows/") and path not in leaves:
        return f"[{leaves['remapped_rows']}]"  # a lost GPU reports no rows
    parts = [leaves[each] for each in path.split("+")]
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        return str(sum(map(int, parts)))
    return next((f"[{part}]" for part in parts if part in ("GPU is lost", "N/A")), parts[0])


def _bare(cell: str, unit: str, form: Format) -> str:
    """Return a cell without its unit for temperatures and PCIe widths, and with `nounits`."""
    number, _, last = cell.rpartition(" ")
    if number and last == "C":
        return number
    if number and last == unit and not form.has_units:
        return number
    return cell[:-1] if cell.endswith("x") and cell[:-1].isdigit() else cell
