"""Parser of `nvidia-smi -q -x`.

    report = parse_nvidia_smi_xml(text)
    report.driver_version, report.gpus[0].fabric.state

Field names differ between driver branches 535 to 620; all spellings are read.

Sources: captures of 8 x H100, 8 x B200, 4 x GB200, 4 x GB300, A100 and three fault injections, driver 570 to 580,
NVIDIA/k8s-test-infra (read 2026-11-20); one H100 in a virtual machine, driver 580.159.04 (2026-11-23).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import lru_cache

from ..numbers import whole_number
from ..unreadable import Unreadable
from .gpu import (
    EccCounts,
    Fabric,
    FabricHealth,
    Gpu,
    GpuProcess,
    GpuReport,
    GpuSettings,
    MaximumClocks,
    MemoryRepair,
    PcieLink,
    PowerLimits,
    RemappedRows,
    RetiredPages,
    SpareRows,
    Temperatures,
)
from .gpu_element import GpuElement

SIMULATION_COMMENT = "simulated by the sovctl lab"
LIMIT_CHARACTERS = 16 << 20  # 8 B200 print 0.36 MB
_TOOL = "nvidia-smi -q -x"
# Not read; 60 % of the text. The pattern leaves every other content to the XML parser, so that damage stays visible.
_SUPPORTED_CLOCKS = re.compile(
    r"<supported_clocks>[^<&]*(?:<supported_mem_clock>[^<&]*<value>[^<&]*</value>[^<&]*"
    r"(?:<supported_graphics_clock>[^<&]*</supported_graphics_clock>[^<&]*)*</supported_mem_clock>[^<&]*)*"
    r"</supported_clocks>"
)
_SPACE = re.compile(r">\s+<")
"""Space between elements, which halves the time of the XML parser if it is removed."""
_LOST = "gpu is lost"
_NEEDS_RESET = "requires reset"
_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons")
"""Section of the reasons for a reduced clock: since driver 545, and before."""
_OLD_POWER = {"current_power_limit": "power_limit"}


@lru_cache(maxsize=4)
def parse_nvidia_smi_xml(text: str) -> GpuReport:
    """Parse the XML document. The last reports are cached, because 30 checks of a node read the same one.

    Raises:
        Unreadable: it is empty, incomplete, not from nvidia-smi, or without driver version.
    """
    root = _root(text)
    driver = (root.findtext("driver_version") or "").strip()
    if not driver:
        raise Unreadable("a driver_version", text, where=_TOOL)
    return GpuReport(
        driver_version=driver,
        cuda_version=(root.findtext("cuda_version") or "").strip() or None,
        attached=whole_number((root.findtext("attached_gpus") or "").strip()),
        is_simulated=SIMULATION_COMMENT in text,
        gpus=tuple(_gpu(index, GpuElement(element)) for index, element in enumerate(root.findall("gpu"))),
    )


def _root(text: str) -> ET.Element:
    if len(text) > LIMIT_CHARACTERS:
        raise Unreadable(f"at most {LIMIT_CHARACTERS} characters", f"{len(text)}", where=_TOOL, is_description=True)
    # Entities can expand a small document to a huge one; nvidia-smi does not use them.
    if "<!ENTITY" in text:
        raise Unreadable("no entity declarations", "one", where=_TOOL, is_description=True)
    try:
        root = ET.fromstring(_SPACE.sub("><", _SUPPORTED_CLOCKS.sub("", text)))  # noqa: S314 - bounded above
    except ET.ParseError:
        raise Unreadable("an XML document", text, where=_TOOL) from None
    if root.tag != "nvidia_smi_log":
        raise Unreadable("<nvidia_smi_log>", f"<{root.tag}>", where=_TOOL)
    return root


def _gpu(index: int, element: GpuElement) -> Gpu:
    device_id = element.text("pci/pci_device_id")
    return Gpu(
        index=index,
        product=element.text("product_name"),
        uuid=element.text("uuid"),
        serial=element.text("serial"),
        pci_bus_id=element.text("pci/pci_bus_id") or element.id,
        pci_device_id=device_id[:4].lower() if device_id and len(device_id) == 8 else None,
        vbios=element.text("vbios_version"),
        persistence_mode=element.text("persistence_mode"),
        ecc_mode=element.text("ecc_mode/current_ecc"),
        ecc=_ecc(element),
        remapped_rows=RemappedRows(
            correctable=element.integer("remapped_rows/remapped_row_corr"),
            uncorrectable=element.integer("remapped_rows/remapped_row_unc"),
            pending=element.yes_no("remapped_rows/remapped_row_pending"),
            failure=element.yes_no("remapped_rows/remapped_row_failure"),
        ),
        fabric=_fabric(element),
        pcie=PcieLink(
            generation=element.integer("pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
            generation_max=element.integer("pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
            width=element.integer("pci/pci_gpu_link_info/link_widths/current_link_width"),
            width_max=element.integer("pci/pci_gpu_link_info/link_widths/max_link_width"),
            replay_counter=element.integer("pci/replay_counter"),
        ),
        temperatures=Temperatures(
            gpu_c=element.integer("temperature/gpu_temp"),
            memory_c=element.integer("temperature/memory_temp"),
            margin_c=element.integer("temperature/gpu_temp_tlimit"),
            slowdown_c=element.integer("temperature/gpu_temp_slow_threshold"),
        ),
        mig_mode=element.text("mig_mode/current_mig"),
        recovery_action=element.text("gpu_recovery_action"),
        memory_total_mib=element.integer("fb_memory_usage/total"),
        settings=_settings(element),
        is_lost=element.has_word(_LOST),
        needs_reset=element.has_word(_NEEDS_RESET) or element.text("gpu_reset_status/reset_required") == "Yes",
    )


def _ecc(element: GpuElement) -> EccCounts:
    return EccCounts(
        volatile_uncorrectable=_uncorrectable(element, "volatile"),
        aggregate_uncorrectable=_uncorrectable(element, "aggregate"),
        sram_threshold_exceeded=element.yes_no("ecc_errors/aggregate/sram_threshold_exceeded"),
    )


def _uncorrectable(element: GpuElement, kind: str) -> int | None:
    """Return the sum of the counters; None for a text other than "N/A", which marks an absent counter."""
    words = [text for name, text in element.children(f"ecc_errors/{kind}") if "uncorrectable" in name]
    numbers = [whole_number(word) for word in words if word != "N/A"]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _fabric(element: GpuElement) -> Fabric:
    health = "fabric/health"
    return Fabric(
        state=element.text("fabric/state"),
        status=element.text("fabric/status"),
        clique_id=element.text("fabric/cliqueId"),
        cluster_uuid=element.text("fabric/clusterUuid"),
        health=FabricHealth(
            summary=element.text(f"{health}/summary"),
            bandwidth=element.text(f"{health}/bandwidth"),
            route_recovery_in_progress=element.text(f"{health}/route_recovery_in_progress"),
            route_unhealthy=element.text(f"{health}/route_unhealthy"),
            access_timeout_recovery=element.text(f"{health}/access_timeout_recovery"),
            incorrect_configuration=element.text(f"{health}/incorrect_configuration"),
        ),
    )


def _settings(element: GpuElement) -> GpuSettings:
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
