"""Hardware facts of a lab node: a simulated DGX H100.

Source of the values: capture of 8 x H100 (NVIDIA/k8s-test-infra, read 2026-11-20). Serial numbers, UUIDs and GUIDs are
invented: they are derived from the names of lab and node.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..layout import LabNode

Facts = dict[str, Any]
GPU_COUNT = 8
# PCI buses of the eight GPUs, their adapters (a GPU and its adapter share a PCIe switch) and the four NVSwitches.
_GPU_BUSES = ("1B", "43", "52", "61", "9D", "C3", "D1", "DF")
NIC_BUSES = ("18", "40", "4F", "5E", "9A", "C0", "CE", "DC")
_SWITCH_BUSES = ("07", "08", "09", "0A")
_CPUS_BY_SOCKET = ("0-55,112-167", "56-111,168-223")  # two processors of 56 cores, two threads each
_SOCKETS = tuple(f"CPU{cpu}_DIMM_{letter}{slot}" for cpu in (0, 1) for letter in "ABCDEFGH" for slot in (1, 2))
_MODULE_GIB = 64  # 32 modules, 2 TiB
_POWER_SUPPLIES = 6
_ECC_COUNTERS = (
    "sram_correctable",
    "sram_uncorrectable_parity",
    "sram_uncorrectable_secded",
    "dram_correctable",
    "dram_uncorrectable",
)
# H100 reports N/A for all values of fabric health (capture).
_FABRIC_HEALTH = (
    "summary",
    "bandwidth",
    "route_recovery_in_progress",
    "route_unhealthy",
    "access_timeout_recovery",
    "incorrect_configuration",
)
_MODEL: Facts = {
    "product_name": "NVIDIA H100 80GB HBM3",
    "compute_capability": "9.0",
    "memory_total_mib": 81559,
    "memory_reserved_mib": 480,
    "power_limit_w": 700.0,
    "nvlink_count": 18,
    "nvlink_gb_s": 26.562,
    "pcie_max_gen": 5,
    "pcie_max_width": 16,
    "vbios_version": "96.00.99.00.01",
    "board_part_number": "692-2G520-0200-000",
    "gpu_part_number": "2330-885-A1",
    "inforom_version": "G520.0200.00.05",
    "pci_device_id": "233010DE",
    "pci_sub_system_id": "16C110DE",
}
# Guesses, between the limits of checks and the peak of an H100: memory 3.35 TB/s, PCIe 64 GB/s, NVLink 450 GB/s.
_RATES: Facts = {
    "memory_mb_s": 2_540_000,
    "stress_gflops": 39_000.0,
    "highest_power_w": 698.0,
    "host_gb_s": 55.2,
    "peer_gb_s": 392.4,
}
_MODULE_IDS = (7, 5, 6, 8, 1, 3, 4, 2)


def facts(lab_name: str, node: LabNode) -> Facts:
    """Return the facts of a healthy node, as plain values. A service node has a board and no GPUs."""
    plate = {
        "sys_vendor": "NVIDIA" if node.kind.has_gpus else "sovctl lab",
        "product_name": "DGXH100" if node.kind.has_gpus else "service-node",
        "product_serial": f"SIMULATED-{lab_name}-{node.name}",
        "bios_version": "1.6.7",
    }
    found: Facts = {
        "simulated": "simulated hardware of a sovctl lab; no such device is present",
        "plate": plate,
        "faults": [],
        "driver": {
            "loads": node.kind.has_gpus,
            "is_open": True,
            "extra_modules": [],
            "missing_modules": [],
            "installed_version": None,
        },
        "kernel_log": [],
        "fabric_manager_log": [],
        "dcgm_missing": 0,
        "diagnostics": {"dcgm_major": 4, "skipped": [], "hangs": False},
        "cdi_missing": 0,
        "nccl": {"wrong": 0, "nvls": True, "hangs": False, "hidden_gpus": 0},
        "gpus": [],
        "nics": [],
        "nvswitches": [],
        "board": {"bios": None, "modules": dict.fromkeys(_SOCKETS, _MODULE_GIB)},
        "bmc": _controller(),
    }
    if node.kind.has_gpus:
        found["model"] = dict(_MODEL)
        found["gpus"] = [_gpu(lab_name, node, index) for index in range(GPU_COUNT)]
        found["nics"] = [_nic(lab_name, node, index) for index in range(GPU_COUNT)]
        found["nvswitches"] = [f"0000:{bus.lower()}:00.0" for bus in _SWITCH_BUSES]
    return found


def text(value: Facts) -> str:
    """Return the content of the facts file."""
    return json.dumps(value, indent=1) + "\n"


def _controller() -> Facts:
    """Return the management controller. Its address is of a network for documentation (RFC 5737)."""
    return {
        "firmware": "23.09",
        "auxiliary": "0x17 0x00 0x00 0x00",
        "self_test": "passed",
        "intrusion": "inactive",
        "supplies": {f"PSU{index}_Status": "Presence detected" for index in range(_POWER_SUPPLIES)},
        "power_redundancy": "Fully Redundant",
        "fans": {f"FAN{index}_{side}": 5880 for index in range(6) for side in "FR"},
        "inlet_c": 24,
        "inlet_status": "ok",
        "events": [],
        "log_percent": 4,
        "clock_offset_s": 0,
        "address": "192.0.2.10",
        "cipher_levels": "XaaXXXXXXXXXXXX",
        "users": {"1": ["", "NO ACCESS"], "2": ["operator", "ADMINISTRATOR"]},
    }


def _gpu(lab_name: str, node: LabNode, index: int) -> Facts:
    identity = _invented(lab_name, node, f"gpu{index}")
    return {
        "index": index,
        "on_bus": True,
        "is_lost": False,
        "pci_bus_id": f"00000000:{_GPU_BUSES[index]}:00.0",
        "uuid": f"GPU-{identity[:8]}-{identity[8:12]}-{identity[12:16]}-{identity[16:20]}-{identity[20:32]}",
        "serial": f"165{int(identity[:12], 16) % 10**10:010d}",
        "pdi": f"0x{identity[:16]}",
        "module_id": _MODULE_IDS[index],
        "numa_node": index // 4,
        "cpu_affinity": _CPUS_BY_SOCKET[index // 4],
        "pcie_gen": 5,
        "pcie_width": 16,
        "pcie_replays": 0,
        "mig_mode": "Disabled",
        "recovery_action": "None",
        "temperature_c": 29 + index % 3,
        "temperature_margin_c": 58 - index % 3,
        "memory_temperature_c": 37 + index % 3,
        "power_draw_w": 68.5 + index / 4,
        "hw_slowdown": "Not Active",
        "hw_power_brake": "Not Active",
        "sw_thermal_slowdown": "Not Active",
        "mig_pending": "Disabled",
        "inforom_image": _MODEL["inforom_version"],
        "gpu_vbios": _MODEL["vbios_version"],
        "gpu_memory_mib": _MODEL["memory_total_mib"],
        "current_power_limit_w": _MODEL["power_limit_w"],
        "sm_clock_mhz": 1980,
        "boost_clock_mhz": 1980,
        "channel_repair_pending": "No",
        "banks_without_spare": 0,
        "gsp_version": None,
        "kernel_uuid": None,
        "has_read_access": True,
        "nccl_gb_s": None,
        "failed_tests": [],
        "has_no_result": False,
        **_RATES,
        "hw_thermal_slowdown": "Not Active",
        "ecc": {
            "mode": "Enabled",
            "pending": "Enabled",
            "volatile": dict.fromkeys(_ECC_COUNTERS, 0),
            "aggregate": dict.fromkeys(_ECC_COUNTERS, 0),
            "sram_threshold_exceeded": "No",
        },
        "remapped_rows": {"correctable": 0, "uncorrectable": 0, "pending": "No", "failure": "No"},
        "nvlinks": {"inactive": [], "errors": {}},
        "fabric": {"is_stuck": False, "health": dict.fromkeys(_FABRIC_HEALTH, "N/A")},
    }


def _nic(lab_name: str, node: LabNode, index: int) -> Facts:
    identity = _invented(lab_name, node, f"nic{index}")
    guid = f"02{identity[:14]}"  # locally administered, so not of a vendor
    return {
        "name": f"mlx5_{index}",
        "rail": index,
        "numa_node": index // 4,
        "pci_bus_id": f"0000:{NIC_BUSES[index].lower()}:00.0",
        "guid": guid,
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "symbol_errors": 0,
        "link_downed": 0,
        "write_gbit_s": 392.5,
        "write_latency_us": 2.1,
        "perftest_hangs": False,
    }


def _invented(lab_name: str, node: LabNode, device: str) -> str:
    """Return 64 hex digits that depend only on the arguments."""
    return hashlib.sha256(f"sovctl-lab/{lab_name}/{node.name}/{device}".encode()).hexdigest()
