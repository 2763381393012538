"""Limits, settings and error records of a GPU in `nvidia-smi -q -x`, in addition to those of `gpu.Gpu`.

Absent elements and "N/A" of a numeric field are None. Text fields are as printed, so "N/A" is distinct from absence.
Element names differ between driver branches 535 to 620; all spellings are read.

Sources: captures of 8 x H100, 8 x B200, 4 x GB200, 4 x GB300, 1 x A100 (NVIDIA/k8s-test-infra, read 2026-11-20), and of
one H100 in a virtual machine (driver 580.159.04, 2026-11-23).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

_NUMBER = re.compile(r"^-?\d+(\.\d+)?")
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


def read_settings(element: ET.Element) -> GpuSettings:
    """Return the settings of one `<gpu>` element."""
    reasons = _clock_reasons(element)
    return GpuSettings(
        power=PowerLimits(
            *(_power(element, name) for name in ("current_power_limit", "default_power_limit", "max_power_limit"))
        ),
        clocks=MaximumClocks(
            sm_mhz=_integer(element, "max_clocks/sm_clock"),
            memory_mhz=_integer(element, "max_clocks/mem_clock"),
            customer_boost_mhz=_integer(element, "max_customer_boost_clocks/graphics_clock"),
        ),
        clock_reasons=None
        if reasons is None
        else frozenset(name for name, word in reasons.items() if word == "Active"),
        clock_reasons_known=frozenset(
            name for name, word in (reasons or {}).items() if word in ("Active", "Not Active")
        ),
        retired=RetiredPages(
            single_bit=_text(element, "retired_pages/multiple_single_bit_retirement/retired_count"),
            double_bit=_text(element, "retired_pages/double_bit_retirement/retired_count"),
            pending=_text(element, "retired_pages/pending_retirement"),
        ),
        repair=MemoryRepair(
            channel_pending=_text(element, "ecc_errors/channel_repair_pending"),
            tpc_pending=_text(element, "ecc_errors/tpc_repair_pending"),
            unrepairable=_text(element, "ecc_errors/unrepairable_memory"),
        ),
        spare_rows=SpareRows(
            full=_integer(element, "remapped_rows/row_remapper_histogram/row_remapper_histogram_max"),
            none=_integer(element, "remapped_rows/row_remapper_histogram/row_remapper_histogram_none"),
        ),
        mig_pending=_text(element, "mig_mode/pending_mig"),
        ecc_pending=_text(element, "ecc_mode/pending_ecc"),
        inforom_image=_text(element, "inforom_version/img_version"),
        inforom_ecc=_text(element, "inforom_version/ecc_object"),
        gsp_firmware=_text(element, "gsp_firmware_version"),
        board_id=_text(element, "board_id"),
        board_part=_text(element, "board_part_number"),
        virtualization=_text(element, "gpu_virtualization_mode/virtualization_mode"),
        processes=_processes(element),
    )


def _clock_reasons(element: ET.Element) -> dict[str, str] | None:
    """Return the word by reason, without the prefix of the branch; None without the section."""
    for section in _REASONS:
        found = element.find(section)
        if found is not None and len(found):
            prefix = section.removesuffix("s") + "_"
            return {each.tag.removeprefix(prefix): (each.text or "").strip() for each in found}
    return None


def _processes(element: ET.Element) -> tuple[GpuProcess, ...] | None:
    section = element.find("processes")
    if section is None or (section.text or "").strip():
        return None  # a text instead of elements, such as "GPU is lost" or "N/A"
    return tuple(
        GpuProcess(_integer(each, "pid") or 0, _text(each, "type") or "", _text(each, "process_name") or "")
        for each in section.findall("process_info")
    )


def _power(element: ET.Element, name: str) -> float | None:
    """Return a limit: in `gpu_power_readings` since driver 530, in `power_readings` before."""
    for path in (
        f"gpu_power_readings/{name}",
        f"power_readings/{name}",
        f"power_readings/{_OLD_POWER.get(name, name)}",
    ):
        value = _number(element, path)
        if value is not None:
            return value
    return None


_OLD_POWER = {"current_power_limit": "power_limit"}


def _text(element: ET.Element, path: str) -> str | None:
    found = element.findtext(path)
    return (found.strip() or None) if found is not None else None


def _number(element: ET.Element, path: str) -> float | None:
    match = _NUMBER.match(_text(element, path) or "")
    return float(match.group()) if match else None


def _integer(element: ET.Element, path: str) -> int | None:
    number = _number(element, path)
    return None if number is None else int(number)
