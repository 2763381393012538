"""Checks that the same fault affects together."""

from __future__ import annotations

GPU_CHECKS = ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link", "gpu.temperature")
SETTING_CHECKS = (
    "gpu.clocks-max", "gpu.inforom", "gpu.mig-as-planned", "gpu.no-throttle", "gpu.power-limit", "gpu.recovery-action",
    "gpu.vbios-uniform", "vram.ecc-setting-kept", "vram.no-pending-repair", "vram.retired-pages", "vram.size",
    "vram.spare-rows", "vram.sram-threshold", "bus.views-agree", "bus.identities-unique", "driver.gsp-firmware-equal",
    "driver.cdi-lists-every-gpu", "nvlink.read-access", "nvlink.nic-affinity",
)  # fmt: skip

# The tool does not print counters of an inactive link, so they are unknown.
LINKS_DOWN = {
    "nvlink.links-active": "FAIL",
    "nvlink.peer-access": "FAIL",
    "nvlink.errors-zero": "UNKNOWN",
    "nvlink.no-flapping": "UNKNOWN",
}

LONG_DIAGNOSTICS = ("diagnostic.dcgm-r3", "diagnostic.dcgm-r4")
# Diagnostics that compute on the GPUs. r1 reads settings and counters only.
GPU_DIAGNOSTICS = (
    "diagnostic.dcgm-r2", *LONG_DIAGNOSTICS, "diagnostic.memory-bandwidth", "diagnostic.targeted-stress",
    "diagnostic.targeted-power", "diagnostic.soak",
)  # fmt: skip
DCGM_RUNS = ("diagnostic.dcgm-r1", "diagnostic.dcgm-r2", *LONG_DIAGNOSTICS)
RATES = ("bandwidth.host-to-device", "bandwidth.device-to-host", "bandwidth.device-to-device")
ACTIVE = ("diagnostic.dcgm-r1", *GPU_DIAGNOSTICS, *RATES)
"""Active tests of one node, without those of NCCL."""

NCCL_CHECKS = ("nccl.nvls-used", "nccl.one-node-bandwidth", "nccl.results-correct")
PAIR_CHECKS = ("ib.pair-bandwidth", "ib.pair-latency")
SLOW = {"nccl.one-node-bandwidth": "FAIL"}
WITHOUT_NVLS = SLOW | {"nccl.nvls-used": "FAIL"}
