"""Limits, settings and error records of a GPU in `nvidia-smi -q -x`, in addition to those of `gpu.Gpu`.

Absent elements and "N/A" of a numeric field are None. Text fields are as printed, so "N/A" is distinct from absence.
Element names differ between driver branches 535 to 620; all spellings are read.

Sources: captures of 8 x H100, 8 x B200, 4 x GB200, 4 x GB300, 1 x A100 (NVIDIA/k8s-test-infra, read 2026-11-20), and of
one H100 in a virtual machine (driver 580.159.04, 2026-11-23).
"""

from __future__ import annotations

from dataclasses import dataclass

from .gpu_element import GpuElement

_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons")
"""Section of the reasons for a reduced clock: since driver 545, and before."""


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """Watts."""

    current_w: float | None
    default_w: float | None
    maximum_w: float | None


@dataclass(frozen=True, slots=True)
class MaximumClocks:
    """MHz. The customer boost clock is the highest graphics clock that applications can set."""

    sm_mhz: int | None
    memory_mhz: int | None
    customer_boost_mhz: int | None


@dataclass(frozen=True, slots=True)
class RetiredPages:
    """Pages of GPUs without row remapping. As printed; "N/A" on GPUs that remap rows."""

    single_bit: str | None
    double_bit: str | None
    pending: str | None


@dataclass(frozen=True, slots=True)
class MemoryRepair:
    """As printed: "Yes", "No", "N/A"; None if the driver does not print the element (before 575)."""

    channel_pending: str | None
    tpc_pending: str | None
    unrepairable: str | None


@dataclass(frozen=True, slots=True)
class SpareRows:
    """Memory banks by remaining spare rows, from all to none."""

    full: int | None
    none: int | None


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that uses the GPU. `kind` is C, G or C+G."""

    pid: int
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class GpuSettings:
    """Settings and records of one GPU.

    Args:
        clock_reasons: active reasons for a reduced clock, such as "hw_slowdown"; None without the section.
        processes: None if the section is missing.
    """

    power: PowerLimits
    clocks: MaximumClocks
    clock_reasons: frozenset[str] | None
    clock_reasons_known: frozenset[str]
    retired: RetiredPages
    repair: MemoryRepair
    spare_rows: SpareRows
    mig_pending: str | None
    ecc_pending: str | None
    inforom_image: str | None
    inforom_ecc: str | None
    gsp_firmware: str | None
    board_id: str | None
    board_part: str | None
    virtualization: str | None
    processes: tuple[GpuProcess, ...] | None


def read_settings(element: GpuElement) -> GpuSettings:
    """Return the settings of one `<gpu>` element."""
    reasons = _clock_reasons(element)
    return GpuSettings(
        power=PowerLimits(
            *(_power(element, name) for name in ("current_power_limit", "default_power_limit", "max_power_limit"))
        ),
        clocks=MaximumClocks(
            sm_mhz=element.integer("max_clocks/sm_clock"),
            memory_mhz=element.integer("max_clocks/mem_clock"),
            customer_boost_mhz=element.integer("max_customer_boost_clocks/graphics_clock"),
        ),
        clock_reasons=None
        if reasons is None
        else frozenset(name for name, word in reasons.items() if word == "Active"),
        clock_reasons_known=frozenset(
            name for name, word in (reasons or {}).items() if word in ("Active", "Not Active")
        ),
        retired=RetiredPages(
            single_bit=element.text("retired_pages/multiple_single_bit_retirement/retired_count"),
            double_bit=element.text("retired_pages/double_bit_retirement/retired_count"),
            pending=element.text("retired_pages/pending_retirement"),
        ),
        repair=MemoryRepair(
            channel_pending=element.text("ecc_errors/channel_repair_pending"),
            tpc_pending=element.text("ecc_errors/tpc_repair_pending"),
            unrepairable=element.text("ecc_errors/unrepairable_memory"),
        ),
        spare_rows=SpareRows(
            full=element.integer("remapped_rows/row_remapper_histogram/row_remapper_histogram_max"),
            none=element.integer("remapped_rows/row_remapper_histogram/row_remapper_histogram_none"),
        ),
        mig_pending=element.text("mig_mode/pending_mig"),
        ecc_pending=element.text("ecc_mode/pending_ecc"),
        inforom_image=element.text("inforom_version/img_version"),
        inforom_ecc=element.text("inforom_version/ecc_object"),
        gsp_firmware=element.text("gsp_firmware_version"),
        board_id=element.text("board_id"),
        board_part=element.text("board_part_number"),
        virtualization=element.text("gpu_virtualization_mode/virtualization_mode"),
        processes=_processes(element),
    )


def _clock_reasons(element: GpuElement) -> dict[str, str] | None:
    """Return the word by reason, without the prefix of the branch; None without the section."""
    for section in _REASONS:
        prefix = section.removesuffix("s") + "_"
        if found := {name.removeprefix(prefix): text for name, text in element.children(section)}:
            return found
    return None


def _processes(element: GpuElement) -> tuple[GpuProcess, ...] | None:
    section = element.section("processes")
    if section is None or (section.text or "").strip():
        return None  # a text instead of elements, such as "GPU is lost" or "N/A"
    return tuple(
        GpuProcess(each.integer("pid") or 0, each.text("type") or "", each.text("process_name") or "")
        for each in map(GpuElement, section.findall("process_info"))
    )


def _power(element: GpuElement, name: str) -> float | None:
    """Return a limit: in `gpu_power_readings` since driver 530, in `power_readings` before."""
    for path in (
        f"gpu_power_readings/{name}",
        f"power_readings/{name}",
        f"power_readings/{_OLD_POWER.get(name, name)}",
    ):
        value = element.number(path)
        if value is not None:
            return value
    return None


_OLD_POWER = {"current_power_limit": "power_limit"}
