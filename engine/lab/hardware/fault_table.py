"""All faults that can be injected into a node."""

from __future__ import annotations

from .fault_tables import adapter, board, collective, diagnostic, driver, gpu, kernel_log, nvlink, vram

FAULTS = (
    *gpu.FAULTS,
    *vram.FAULTS,
    *nvlink.FAULTS,
    *driver.FAULTS,
    *kernel_log.FAULTS,
    *adapter.FAULTS,
    *collective.FAULTS,
    *board.FAULTS,
    *diagnostic.FAULTS,
)
