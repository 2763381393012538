"""Parser of `nvidia-smi -q -x`.

    report = parse_nvidia_smi_xml(text)
    report.driver_version, report.gpus[0].fabric.state

- A missing element is None.
- "N/A" is the text "N/A" in text fields (fabric, recovery), and None in numeric fields.
- A GPU with "GPU is lost" or "requires reset" in any element is marked as such.
- Field names differ between driver branches; both spellings are read.

Sources: captures of 8 x H100, 8 x B200, 4 x GB200, 4 x GB300, A100 and three fault injections, driver 570 to 580,
NVIDIA/k8s-test-infra (read 2026-11-20).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache

from ..numbers import whole_number
from ..unreadable import Unreadable
from .gpu_element import GpuElement
from .gpu_settings import GpuSettings, read_settings

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


@dataclass(frozen=True, slots=True)
class EccCounts:
    """Uncorrectable memory errors, summed over SRAM and DRAM; None if a summand is unreadable."""

    volatile_uncorrectable: int | None
    """Since the driver was loaded."""
    aggregate_uncorrectable: int | None
    """Over the lifetime of the GPU."""
    sram_threshold_exceeded: bool | None


@dataclass(frozen=True, slots=True)
class RemappedRows:
    """Replaced rows of HBM. `failure` means that all spare rows are used."""

    correctable: int | None
    uncorrectable: int | None
    pending: bool | None
    failure: bool | None


@dataclass(frozen=True, slots=True)
class FabricHealth:
    """As printed: "Healthy", "Unhealthy", "N/A", "True", "False", "Full", "None", ...; None if missing."""

    summary: str | None
    bandwidth: str | None
    route_recovery_in_progress: str | None
    route_unhealthy: str | None
    access_timeout_recovery: str | None
    incorrect_configuration: str | None


@dataclass(frozen=True, slots=True)
class Fabric:
    """The GPU in the NVLink fabric. Healthy HGX nodes have clique 0 and an all-zero cluster UUID."""

    state: str | None
    status: str | None
    clique_id: str | None
    cluster_uuid: str | None
    health: FabricHealth


@dataclass(frozen=True, slots=True)
class PcieLink:
    """PCI Express link to the host. `replay_counter` is 100 to 150 on healthy H100: only its rate is significant."""

    generation: int | None
    generation_max: int | None
    width: int | None
    width_max: int | None
    replay_counter: int | None


@dataclass(frozen=True, slots=True)
class Temperatures:
    """Degrees Celsius. Blackwell has margins (`*_tlimit`) instead of absolute thresholds."""

    gpu_c: int | None
    memory_c: int | None
    margin_c: int | None
    """Margin until the GPU slows down (`gpu_temp_tlimit`)."""
    slowdown_c: int | None
    """Slowdown threshold of GPUs without margin (`gpu_temp_slow_threshold`)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; `index` is its position in the XML, in the driver's order."""

    index: int
    product: str | None
    uuid: str | None
    serial: str | None
    pci_bus_id: str | None
    pci_device_id: str | None
    """Four hex digits, such as "2330" for H100 SXM."""
    vbios: str | None
    persistence_mode: str | None
    ecc_mode: str | None
    ecc: EccCounts
    remapped_rows: RemappedRows
    fabric: Fabric
    power_limit_w: float | None
    pcie: PcieLink
    temperatures: Temperatures
    mig_mode: str | None
    recovery_action: str | None
    """"None" if no action is required; None if the driver does not print one."""
    memory_total_mib: int | None
    settings: GpuSettings
    is_lost: bool
    needs_reset: bool


@dataclass(frozen=True, slots=True)
class GpuReport:
    """A node's GPUs in index order.

    Args:
        attached: number of GPUs that the driver counts; can differ from `len(gpus)`.
        is_simulated: the output is from the simulated nvidia-smi of the lab.
    """

    driver_version: str
    cuda_version: str | None
    attached: int | None
    is_simulated: bool
    gpus: tuple[Gpu, ...]


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
        power_limit_w=element.number("gpu_power_readings/current_power_limit")
        or element.number("power_readings/power_limit"),
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
        settings=read_settings(element),
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
