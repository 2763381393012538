"""Faults of the GPUs: presence, clocks, power, temperature, settings and PCIe links."""

from __future__ import annotations

from .check_groups import ACTIVE, DCGM_RUNS, GPU_CHECKS, LINKS_DOWN, LONG_DIAGNOSTICS, NCCL_CHECKS, SETTING_CHECKS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "gpu-lost", FaultTarget.GPU, {"is_lost": True, "recovery_action": "Reboot"},
        "-q -x: GPU is lost; exit code 15", {
            "gpu.count": "FAIL",
            **of(("firmware.gpu", "gpu.ecc", "gpu.row-remap", "gpu.temperature"), "UNKNOWN"),
            **of(
                ("vram.no-pending-repair", "vram.retired-pages", "vram.size", "vram.spare-rows"), "UNKNOWN"
            ),
            **LINKS_DOWN,
            **of(("gpu.recovery-action", "nvlink.read-access", "nvlink.fabric-ready", *ACTIVE), "FAIL"),
        } | of(NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "gpu-off-bus", FaultTarget.GPU, {"on_bus": False},
        "-q -x and lspci: seven GPUs",
        {
            **of((*GPU_CHECKS, *SETTING_CHECKS, "bus.numa-split", "driver.dcgm-host-engine", *ACTIVE), "FAIL"),
            **LINKS_DOWN,
            "nvlink.fabric-ready": "FAIL",
        } | of(NCCL_CHECKS, "FAIL"),
    ),
    Fault(
        "link-downgraded", FaultTarget.GPU, {"pcie_gen": 1, "pcie_width": 8},
        "-q -x and sysfs: PCIe gen 1, width 8x",
        of(
            ("gpu.pcie-link", "diagnostic.dcgm-r2", *LONG_DIAGNOSTICS, "bandwidth.host-to-device",
             "bandwidth.device-to-host"),
            "FAIL",
        ),
    ),
    Fault(
        "overheated", FaultTarget.GPU,
        {
            "temperature_c": 90,
            "temperature_margin_c": -3,
            "hw_slowdown": "Active",
            "hw_thermal_slowdown": "Active",
        },
        "-q -x: 90 C, hardware slowdown Active", of(("gpu.temperature", "gpu.no-throttle"), "FAIL"),
    ),
    Fault(
        "power-limited", FaultTarget.GPU, {"current_power_limit_w": 500.0},
        "-q -x: current_power_limit 500 W", of(("gpu.power-limit", "diagnostic.targeted-power"), "FAIL"),
    ),
    Fault(
        "clock-capped", FaultTarget.GPU, {"boost_clock_mhz": 1200},
        "-q -x: max_customer_boost_clocks 1200 MHz",
        of(("gpu.clocks-max", *LONG_DIAGNOSTICS, "diagnostic.targeted-stress"), "FAIL"),
    ),
    Fault(
        "clock-low", FaultTarget.GPU, {"sm_clock_mhz": 1755},
        "-q -x: max_clocks 1755 MHz", {"gpu.clocks-max": "FAIL"},
    ),
    Fault(
        "vbios-other", FaultTarget.GPU, {"gpu_vbios": "96.00.89.00.01"},
        "-q -x: another VBIOS than the other GPUs", {"gpu.vbios-uniform": "FAIL"},
    ),
    Fault(
        "inforom-corrupt", FaultTarget.GPU, {"inforom_image": "N/A"},
        "-q -x: no image version", of(("gpu.inforom", *DCGM_RUNS), "FAIL"),
    ),
    Fault(
        "mig-enabled", FaultTarget.GPU, {"mig_mode": "Enabled", "mig_pending": "Enabled"},
        "-q -x: current_mig Enabled", {"gpu.mig-as-planned": "FAIL"},
    ),
    Fault(
        "mig-pending", FaultTarget.GPU, {"mig_pending": "Enabled"},
        "-q -x: pending_mig Enabled", {"gpu.mig-as-planned": "WARN"},
    ),
    Fault(
        "power-brake", FaultTarget.GPU, {"hw_power_brake": "Active"},
        "-q -x: hw_power_brake_slowdown Active", {"gpu.no-throttle": "FAIL"},
    ),
    Fault(
        "software-slowdown", FaultTarget.GPU, {"sw_thermal_slowdown": "Active"},
        "-q -x: sw_thermal_slowdown Active", {"gpu.no-throttle": "WARN"},
    ),
    Fault(
        "uuid-other", FaultTarget.GPU, {"kernel_uuid": "GPU-00000000-0000-4000-8000-000000000000"},
        "/proc/driver/nvidia/gpus: another UUID than nvidia-smi", {"bus.views-agree": "FAIL"},
    ),
    Fault(
        "numa-unset", FaultTarget.GPU, {"numa_node": -1},
        "sysfs: numa_node -1", {"bus.numa-split": "FAIL"},
    ),
)  # fmt: skip
