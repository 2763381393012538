"""Faults that can be injected into a node: the changed facts, the visible effect, and the affected checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class FaultTarget(StrEnum):
    """Device of a fault; the value is the name of its list in the facts file."""

    GPU = "gpus"
    ADAPTER = "nics"
    NODE = ""


@dataclass(frozen=True)
class Fault:
    """A fault."""

    name: str
    target: FaultTarget
    changes: dict[str, Any]
    """New values by dotted path below the target."""
    shows: str
    """Visible effect: tool and output."""
    expects: dict[str, str]
    """Verdicts of all hardware checks, and of `diagnostic.*` and `bandwidth.*`, that do not pass, by check ID."""
    under_load: dict[str, str] = field(default_factory=dict)
    """Verdicts of the active checks of NCCL and RDMA that do not pass, by check ID."""


def _of(checks: tuple[str, ...], verdict: str) -> dict[str, str]:
    return dict.fromkeys(checks, verdict)


_NCCL_CHECKS = ("nccl.nvls-used", "nccl.one-node-bandwidth", "nccl.results-correct")
_PAIR_CHECKS = ("ib.pair-bandwidth", "ib.pair-latency")
_SLOW = {"nccl.one-node-bandwidth": "FAIL"}
_WITHOUT_NVLS = _SLOW | {"nccl.nvls-used": "FAIL"}
_GPU_CHECKS = ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link", "gpu.temperature")
# The tool does not print counters of an inactive link, so they are unknown.
_LINKS_DOWN = {"nvlink.links-active": "FAIL", "nvlink.peer-access": "FAIL", "nvlink.errors-zero": "UNKNOWN"}
_LINKS_DOWN |= {"nvlink.no-flapping": "UNKNOWN"}

_SETTING_CHECKS = (
    "gpu.clocks-max", "gpu.inforom", "gpu.mig-as-planned", "gpu.no-throttle", "gpu.power-limit", "gpu.recovery-action",
    "gpu.vbios-uniform", "vram.ecc-setting-kept", "vram.no-pending-repair", "vram.retired-pages", "vram.size",
    "vram.spare-rows", "vram.sram-threshold", "bus.views-agree", "bus.identities-unique", "driver.gsp-firmware-equal",
    "driver.cdi-lists-every-gpu", "nvlink.read-access", "nvlink.nic-affinity",
)  # fmt: skip

_LONG_DIAGNOSTICS = ("diagnostic.dcgm-r3", "diagnostic.dcgm-r4")
# Diagnostics that compute on the GPUs. r1 reads settings and counters only.
_GPU_DIAGNOSTICS = (
    "diagnostic.dcgm-r2", *_LONG_DIAGNOSTICS, "diagnostic.memory-bandwidth", "diagnostic.targeted-stress",
    "diagnostic.targeted-power", "diagnostic.soak",
)  # fmt: skip
_DCGM_RUNS = ("diagnostic.dcgm-r1", "diagnostic.dcgm-r2", *_LONG_DIAGNOSTICS)
_RATES = ("bandwidth.host-to-device", "bandwidth.device-to-host", "bandwidth.device-to-device")
_ACTIVE = ("diagnostic.dcgm-r1", *_GPU_DIAGNOSTICS, *_RATES)

FAULTS = (
    Fault(
        "nvlink-down", FaultTarget.GPU, {"nvlinks.inactive": [7]},
        "nvlink -s: link 7 <inactive>; topo -m: NV17", _LINKS_DOWN, _SLOW,
    ),
    Fault(
        "nvlinks-all-down", FaultTarget.GPU, {"nvlinks.inactive": list(range(18))},
        "nvlink -s: all links are inactive; topo -p2p: NS", {
            **_LINKS_DOWN,
            "nvlink.read-access": "FAIL",
            "bandwidth.device-to-device": "UNKNOWN",
        },
        _WITHOUT_NVLS,
    ),
    Fault(
        "nvlink-errors", FaultTarget.GPU, {"nvlinks.errors": {"4": {"replay": 12, "recovery": 1, "crc": 40}}},
        "nvlink -e: link 4 counts", {"nvlink.errors-zero": "FAIL", "nvlink.no-flapping": "WARN"},
    ),
    Fault(
        "gpu-lost", FaultTarget.GPU, {"is_lost": True, "recovery_action": "Reboot"},
        "-q -x: GPU is lost; exit code 15", {
            "gpu.count": "FAIL",
            **_of(("firmware.gpu", "gpu.ecc", "gpu.row-remap", "gpu.temperature"), "UNKNOWN"),
            **_of(
                ("vram.no-pending-repair", "vram.retired-pages", "vram.size", "vram.spare-rows"), "UNKNOWN"
            ),
            **_LINKS_DOWN,
            **_of(("gpu.recovery-action", "nvlink.read-access", "nvlink.fabric-ready", *_ACTIVE), "FAIL"),
        },
        _of(_NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "gpu-off-bus", FaultTarget.GPU, {"on_bus": False},
        "-q -x and lspci: seven GPUs",
        {
            **_of((*_GPU_CHECKS, *_SETTING_CHECKS, "bus.numa-split", "driver.dcgm-host-engine", *_ACTIVE), "FAIL"),
            **_LINKS_DOWN,
            "nvlink.fabric-ready": "FAIL",
        },
        _of(_NCCL_CHECKS, "FAIL"),
    ),
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
        {**_of(("gpu.count", "gpu.ecc", "gpu.recovery-action", *_DCGM_RUNS), "FAIL"), "gpu.row-remap": "WARN"},
    ),
    Fault(
        "ecc-disabled", FaultTarget.GPU, {"ecc.mode": "Disabled"},
        "-q -x: current_ecc Disabled", {"gpu.ecc": "FAIL"},
    ),
    Fault(
        "row-remap-failure", FaultTarget.GPU, {"remapped_rows.uncorrectable": 1, "remapped_rows.failure": "Yes"},
        "-q -x: remapped_row_failure Yes", _of(("gpu.row-remap", *_DCGM_RUNS), "FAIL"),
    ),
    Fault(
        "fabric-degraded", FaultTarget.GPU,
        {
            "fabric.health": {
                "summary": "Unhealthy",
                "bandwidth": "Full",
                "route_recovery_in_progress": "False",
                "route_unhealthy": "True",
                "access_timeout_recovery": "False",
                "incorrect_configuration": "None",
            }
        },
        "-q -x: Completed and Success, but health Unhealthy", {"nvlink.fabric-ready": "FAIL"},
    ),
    Fault(
        "fabric-stuck", FaultTarget.GPU, {"fabric.is_stuck": True},
        "-q -x: fabric In Progress; topo -p2p: NS",
        {
            **_of(("nvlink.peer-access", "nvlink.read-access", "nvlink.fabric-ready"), "FAIL"),
            **_of(("diagnostic.dcgm-r1", *_GPU_DIAGNOSTICS), "FAIL"),
            **_of(_RATES, "UNKNOWN"),
        },
        _of(_NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "link-downgraded", FaultTarget.GPU, {"pcie_gen": 1, "pcie_width": 8},
        "-q -x and sysfs: PCIe gen 1, width 8x",
        _of(
            ("gpu.pcie-link", "diagnostic.dcgm-r2", *_LONG_DIAGNOSTICS, "bandwidth.host-to-device",
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
        "-q -x: 90 C, hardware slowdown Active", _of(("gpu.temperature", "gpu.no-throttle"), "FAIL"),
    ),
    Fault(
        "driver-unloaded", FaultTarget.NODE, {"driver.loads": False},
        "nvidia-smi exits 9; no /proc/driver/nvidia/version",
        {
            **_of((*_GPU_CHECKS, *_SETTING_CHECKS, *_LINKS_DOWN, "nvlink.fabric-ready", *_ACTIVE), "UNKNOWN"),
            **_of(("driver.no-nouveau", "driver.module-equals-tool", "driver.module-is-open"), "UNKNOWN"),
            **_of(("firmware.gpu", "gpu.no-foreign-processes"), "UNKNOWN"),
            **_of(("driver.modules-loaded", "driver.dcgm-host-engine"), "FAIL"),
        },
        _of(_NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "ib-link-down", FaultTarget.ADAPTER, {"state": "1: DOWN", "phys_state": "2: Polling", "link_downed": 1},
        "sysfs and ibstat: port down; the fabric loses the adapter",
        {"ib.ports-active": "FAIL", "ib.counters-zero": "WARN"},
        _of(_PAIR_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "ib-link-slow", FaultTarget.ADAPTER, {"rate": "200 Gb/sec (4X HDR)"},
        "sysfs: 200 Gb/sec", {"ib.ports-active": "FAIL"},
        {"ib.pair-bandwidth": "FAIL"},
    ),
    Fault(
        "ib-symbol-errors", FaultTarget.ADAPTER, {"symbol_errors": 65_535},
        "sysfs: counters/symbol_error 65535; ibqueryerrors on the fabric", {"ib.counters-zero": "FAIL"},
    ),
    Fault(
        "power-limited", FaultTarget.GPU, {"current_power_limit_w": 500.0},
        "-q -x: current_power_limit 500 W", _of(("gpu.power-limit", "diagnostic.targeted-power"), "FAIL"),
    ),
    Fault(
        "clock-capped", FaultTarget.GPU, {"boost_clock_mhz": 1200},
        "-q -x: max_customer_boost_clocks 1200 MHz",
        _of(("gpu.clocks-max", *_LONG_DIAGNOSTICS, "diagnostic.targeted-stress"), "FAIL"),
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
        "-q -x: no image version", _of(("gpu.inforom", *_DCGM_RUNS), "FAIL"),
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
        "memory-short", FaultTarget.GPU, {"gpu_memory_mib": 79000},
        "-q -x: 79000 MiB", {"vram.size": "FAIL"},
    ),
    Fault(
        "sram-threshold", FaultTarget.GPU, {"ecc.sram_threshold_exceeded": "Yes"},
        "-q -x: sram_threshold_exceeded Yes", _of(("gpu.ecc", "vram.sram-threshold", *_DCGM_RUNS), "FAIL"),
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
    Fault(
        "gsp-other", FaultTarget.GPU, {"gsp_version": "570.86.15"},
        "-q -x: gsp_firmware_version 570.86.15", {"driver.gsp-firmware-equal": "FAIL"},
    ),
    Fault(
        "uuid-other", FaultTarget.GPU, {"kernel_uuid": "GPU-00000000-0000-4000-8000-000000000000"},
        "/proc/driver/nvidia/gpus: another UUID than nvidia-smi", {"bus.views-agree": "FAIL"},
    ),
    Fault(
        "read-access-lost", FaultTarget.GPU, {"has_read_access": False},
        "topo -p2p r: NS; links active",
        {"nvlink.read-access": "FAIL", "bandwidth.device-to-device": "UNKNOWN"},
    ),
    Fault(
        "numa-unset", FaultTarget.GPU, {"numa_node": -1},
        "sysfs: numa_node -1", {"bus.numa-split": "FAIL"},
    ),
    Fault(
        "nvswitch-lost", FaultTarget.NODE, {"nvswitches": ["0000:07:00.0", "0000:08:00.0", "0000:09:00.0"]},
        "lspci: three NVSwitches", {"nvlink.switches-present": "FAIL"},
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
    Fault(
        "xid-79", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus."]},
        "dmesg: Xid 79", {"xid.none-since-boot": "FAIL"},
    ),
    Fault(
        "xid-31", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 31, pid=77, name=python3, MMU Fault"]},
        "dmesg: Xid 31", {"xid.none-since-boot": "WARN"},
    ),
    Fault(
        "xid-unknown", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 999, invented"]},
        "dmesg: a code that is not in the catalogue", {"xid.none-since-boot": "UNKNOWN"},
    ),
    Fault(
        "sxid", FaultTarget.NODE, {
            "kernel_log": [
                "nvidia-nvswitch3: SXid (PCI:0000:0a:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"]
        },
        "dmesg: SXid 20034", {"xid.no-switch-errors": "FAIL"},
    ),
    Fault(
        "adapter-fault", FaultTarget.NODE, {
            "kernel_log": [
                "mlx5_core 0000:5e:00.0: device's health compromised - reached miss count"]
        },
        "dmesg: health of an adapter", {"xid.no-adapter-faults": "FAIL"},
    ),
    Fault(
        "bus-error", FaultTarget.NODE, {
            "kernel_log": [
                "pcieport 0000:60:01.0: AER: Uncorrected (Fatal) error received: 0000:61:00.0"]
        },
        "dmesg: AER", {"xid.no-bus-errors": "FAIL"},
    ),
    Fault(
        "nccl-slow", FaultTarget.GPU, {"nccl_gb_s": 402.0},
        "all_reduce_perf: 402 GB/s, NVLink and log unchanged", {}, _SLOW,
    ),
    Fault(
        "nccl-wrong", FaultTarget.NODE, {"nccl.wrong": 5},
        "all_reduce_perf: #wrong 5, Out of bounds values FAILED, exit code 1", {}, {"nccl.results-correct": "FAIL"},
    ),
    Fault(
        "nvls-off", FaultTarget.NODE, {"nccl.nvls": False},
        "log of NCCL: multicast not available; all_reduce_perf: 367 GB/s", {}, _WITHOUT_NVLS,
    ),
    Fault(
        "nccl-gpu-hidden", FaultTarget.NODE, {"nccl.hidden_gpus": 1},
        "all_reduce_perf: 8 GPUs requested, 7 found; nvidia-smi shows eight", {}, _of(_NCCL_CHECKS, "FAIL"),
    ),
    Fault(
        "nccl-hangs", FaultTarget.NODE, {"nccl.hangs": True},
        "all_reduce_perf does not end", {}, _of(_NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "rail-slow", FaultTarget.ADAPTER, {"write_gbit_s": 196.0},
        "ib_write_bw: 196 Gbit/s, the port shows 400", {}, {"ib.pair-bandwidth": "FAIL"},
    ),
    Fault(
        "rail-late", FaultTarget.ADAPTER, {"write_latency_us": 31.0},
        "ib_write_lat: 31 us", {}, {"ib.pair-latency": "FAIL"},
    ),
    Fault(
        "perftest-hangs", FaultTarget.ADAPTER, {"perftest_hangs": True},
        "ib_write_bw and ib_write_lat do not end", {}, _of(_PAIR_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "psu-failed", FaultTarget.NODE, {
            "bmc.supplies.PSU3_Status": "Presence detected, Failure detected", "bmc.power_redundancy": "Redundancy Lost"
        },
        "ipmitool sdr type 'Power Supply': PSU3 Failure detected", {"bmc.power-redundant": "FAIL"},
    ),
    Fault(
        "psu-missing", FaultTarget.NODE, {"bmc.supplies.PSU5_Status": None},
        "ipmitool sdr type 'Power Supply': five of six", {"bmc.power-redundant": "FAIL"},
    ),
    Fault(
        "fan-stopped", FaultTarget.NODE, {"bmc.fans.FAN3_F": 0},
        "ipmitool sdr type Fan: 0 RPM", {"bmc.fans-running": "FAIL"},
    ),
    Fault(
        "inlet-hot", FaultTarget.NODE, {"bmc.inlet_c": 46, "bmc.inlet_status": "cr"},
        "ipmitool sdr type Temperature: 46 degrees C, critical", {"bmc.temperatures-low": "FAIL"},
    ),
    Fault(
        "bmc-event", FaultTarget.NODE, {"bmc.events": [["Memory CPU0_DIMM_A1", "Uncorrectable ECC"]]},
        "ipmitool sel elist: Uncorrectable ECC", {"bmc.event-log-clean": "FAIL"},
    ),
    Fault(
        "bmc-log-full", FaultTarget.NODE, {"bmc.log_percent": 97},
        "ipmitool sel info: 97 % used", {"bmc.event-log-space": "WARN"},
    ),
    Fault(
        "bmc-clock-wrong", FaultTarget.NODE, {"bmc.clock_offset_s": 7200},
        "ipmitool sel time get: two hours ahead", {"bmc.clock-correct": "WARN"},
    ),
    Fault(
        "bmc-cipher-zero", FaultTarget.NODE, {"bmc.cipher_levels": "aaaXXXXXXXXXXXX"},
        "ipmitool lan print: cipher suite 0 with level a", {"bmc.no-cipher-zero": "FAIL"},
    ),
    Fault(
        "bmc-anonymous", FaultTarget.NODE, {"bmc.users.1": ["", "ADMINISTRATOR"]},
        "ipmitool user list: user 1 without a name", {"bmc.no-anonymous-user": "FAIL"},
    ),
    Fault(
        "bmc-in-node-network", FaultTarget.NODE, {"bmc.address": "10.77.0.211"},
        "ipmitool lan print: an address in the network of the nodes", {"bmc.separate-network": "FAIL"},
    ),
    Fault(
        "bmc-damaged", FaultTarget.NODE, {"bmc.self_test": "device corrupted"},
        "ipmitool mc selftest: device corrupted", {"bmc.responds": "FAIL"},
    ),
    Fault(
        "chassis-open", FaultTarget.NODE, {"bmc.intrusion": "active"},
        "ipmitool chassis status: intrusion", {"bmc.chassis-without-fault": "FAIL"},
    ),
    Fault(
        "bios-old", FaultTarget.NODE, {"plate.bios_version": "1.1.3"},
        "dmidecode -t bios: 1.1.3; FAIL if site.yaml permits only another", {"firmware.bios": "FAIL"},
    ),
    Fault(
        "bios-two-views", FaultTarget.NODE, {"board.bios": "1.6.8"},
        "dmidecode -t bios: another version than sysfs", {"firmware.bios": "FAIL"},
    ),
    Fault(
        "bmc-old", FaultTarget.NODE, {"bmc.firmware": "22.01"},
        "ipmitool mc info: 22.01; FAIL if site.yaml permits only another", {"firmware.bmc": "FAIL"},
    ),
    Fault(
        "module-lost", FaultTarget.NODE, {"board.modules.CPU0_DIMM_A1": 0},
        "dmidecode -t memory: an empty socket, 1984 GiB", {"memory.size": "FAIL"},
    ),
    Fault(
        "memory-test-fails", FaultTarget.GPU, {"failed_tests": ["memory"]},
        "dcgmi diag: memory Fail", _of(("diagnostic.dcgm-r2", *_LONG_DIAGNOSTICS), "FAIL"),
    ),
    Fault(
        "memory-pattern-fails", FaultTarget.GPU, {"failed_tests": ["memtest"]},
        "dcgmi diag -r 4: memtest Fail", {"diagnostic.dcgm-r4": "FAIL"},
    ),
    Fault(
        "wrong-results", FaultTarget.GPU, {"failed_tests": ["diagnostic"]},
        "dcgmi diag: miscompares under load", _of((*_LONG_DIAGNOSTICS, "diagnostic.soak"), "FAIL"),
    ),
    Fault(
        "memory-slow", FaultTarget.GPU, {"memory_mb_s": 1_400_000},
        "dcgmi diag: memory bandwidth of 1400 GB/s",
        _of((*_LONG_DIAGNOSTICS, "diagnostic.memory-bandwidth"), "FAIL"),
    ),
    Fault(
        "power-short", FaultTarget.GPU, {"highest_power_w": 450.0},
        "dcgmi diag: 450 W under load", _of((*_LONG_DIAGNOSTICS, "diagnostic.targeted-power"), "FAIL"),
    ),
    Fault(
        "pcie-slow", FaultTarget.GPU, {"host_gb_s": 24.0},
        "nvbandwidth: 24 GB/s between host and GPU; the link reports full width and speed",
        _of(("bandwidth.host-to-device", "bandwidth.device-to-host"), "FAIL"),
    ),
    Fault(
        "peer-slow", FaultTarget.GPU, {"peer_gb_s": 180.0},
        "nvbandwidth: 180 GB/s to every other GPU; all links active", {"bandwidth.device-to-device": "FAIL"},
    ),
    Fault(
        "diagnostic-incomplete", FaultTarget.GPU, {"has_no_result": True},
        "dcgmi diag: no result of one GPU",
        _of(_GPU_DIAGNOSTICS, "UNKNOWN"),
    ),
    Fault(
        "tests-skipped", FaultTarget.NODE, {"diagnostics.skipped": ["memory", "pcie"]},
        "dcgmi diag: Skip", _of(("diagnostic.dcgm-r2", *_LONG_DIAGNOSTICS), "UNKNOWN"),
    ),
    Fault(
        "dcgm-version-3", FaultTarget.NODE, {"diagnostics.dcgm_major": 3},
        "dcgmi diag: the form of DCGM 3.x, healthy", {},
    ),
    Fault(
        "diagnostic-hangs", FaultTarget.NODE, {"diagnostics.hangs": True},
        "dcgmi diag and nvbandwidth do not end",
        _of(_ACTIVE, "UNKNOWN"),
    ),
)  # fmt: skip
