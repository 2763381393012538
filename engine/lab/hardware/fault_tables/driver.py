"""Faults of the driver, its modules and services."""

from __future__ import annotations

from .check_groups import ACTIVE, GPU_CHECKS, LINKS_DOWN, NCCL_CHECKS, SETTING_CHECKS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "driver-unloaded", FaultTarget.NODE, {"driver.loads": False},
        "nvidia-smi exits 9; no /proc/driver/nvidia/version",
        {
            **of((*GPU_CHECKS, *SETTING_CHECKS, *LINKS_DOWN, "nvlink.fabric-ready", *ACTIVE), "UNKNOWN"),
            **of(("driver.no-nouveau", "driver.module-equals-tool", "driver.module-is-open"), "UNKNOWN"),
            **of(("firmware.gpu", "gpu.no-foreign-processes"), "UNKNOWN"),
            **of(("driver.modules-loaded", "driver.dcgm-host-engine"), "FAIL"),
        } | of(NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "gsp-other", FaultTarget.GPU, {"gsp_version": "570.86.15"},
        "-q -x: gsp_firmware_version 570.86.15", {"driver.gsp-firmware-equal": "FAIL"},
    ),
    Fault(
        "module-missing", FaultTarget.NODE, {"driver.missing_modules": ["ib_uverbs"]},
        "lsmod: no ib_uverbs", {"driver.modules-loaded": "FAIL"},
    ),
    Fault(
        "nouveau-loaded", FaultTarget.NODE, {"driver.extra_modules": ["nouveau"]},
        "lsmod: nouveau", {"driver.no-nouveau": "FAIL"},
    ),
    Fault(
        "module-not-rebooted", FaultTarget.NODE, {"driver.installed_version": "580.173.02"},
        "modinfo: another version than the loaded one", {"driver.module-equals-tool": "FAIL"},
    ),
    Fault(
        "module-proprietary", FaultTarget.NODE, {"driver.is_open": False},
        "/proc/driver/nvidia/version: not the open module", {"driver.module-is-open": "FAIL"},
    ),
    Fault(
        "cdi-stale", FaultTarget.NODE, {"cdi_missing": 1},
        "nvidia-ctk cdi list: seven GPUs", {"driver.cdi-lists-every-gpu": "FAIL"},
    ),
    Fault(
        "dcgm-stale", FaultTarget.NODE, {"dcgm_missing": 1},
        "dcgmi discovery -l: seven GPUs", {"driver.dcgm-host-engine": "FAIL"},
    ),
)  # fmt: skip
