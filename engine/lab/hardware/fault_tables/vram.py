"""Faults of the memory of GPUs."""

from __future__ import annotations

from .check_groups import DCGM_RUNS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "ecc-uncorrectable", FaultTarget.GPU,
        {
            "ecc.volatile.dram_uncorrectable": 5,
            "ecc.aggregate.dram_uncorrectable": 8,
            "remapped_rows.uncorrectable": 1,
            "remapped_rows.pending": "Yes",
            "recovery_action": "Reset",
        },
        "-q -x: dram_uncorrectable 5, a row to remap",
        {**of(("gpu.count", "gpu.ecc", "gpu.recovery-action", *DCGM_RUNS), "FAIL"), "gpu.row-remap": "WARN"},
    ),
    Fault(
        "ecc-disabled", FaultTarget.GPU, {"ecc.mode": "Disabled"},
        "-q -x: current_ecc Disabled", {"gpu.ecc": "FAIL"},
    ),
    Fault(
        "row-remap-failure", FaultTarget.GPU, {"remapped_rows.uncorrectable": 1, "remapped_rows.failure": "Yes"},
        "-q -x: remapped_row_failure Yes", of(("gpu.row-remap", *DCGM_RUNS), "FAIL"),
    ),
    Fault(
        "memory-short", FaultTarget.GPU, {"gpu_memory_mib": 79000},
        "-q -x: 79000 MiB", {"vram.size": "FAIL"},
    ),
    Fault(
        "sram-threshold", FaultTarget.GPU, {"ecc.sram_threshold_exceeded": "Yes"},
        "-q -x: sram_threshold_exceeded Yes", of(("gpu.ecc", "vram.sram-threshold", *DCGM_RUNS), "FAIL"),
    ),
    Fault(
        "ecc-off-after-reset", FaultTarget.GPU, {"ecc.pending": "Disabled"},
        "-q -x: pending_ecc Disabled", {"vram.ecc-setting-kept": "FAIL"},
    ),
    Fault(
        "channel-repair", FaultTarget.GPU, {"channel_repair_pending": "Yes"},
        "-q -x: channel_repair_pending Yes", {"vram.no-pending-repair": "WARN"},
    ),
    Fault(
        "spare-rows-used", FaultTarget.GPU, {"banks_without_spare": 2},
        "-q -x: 2 banks without a spare row", {"vram.spare-rows": "FAIL"},
    ),
)  # fmt: skip
