"""GPUs of a node, as the driver reports them.

- A missing element is None.
- "N/A" is the text "N/A" in text fields (fabric, recovery), and None in numeric fields.
- Text fields are as printed. A GPU with "GPU is lost" or "requires reset" in any element is marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass


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
