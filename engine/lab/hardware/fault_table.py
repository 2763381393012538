"""Faults that can be injected into a node: the changed facts, the visible effect, and the affected checks."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Verdicts of all hardware checks that do not pass, by check ID."""


def _of(checks: tuple[str, ...], verdict: str) -> dict[str, str]:
    return dict.fromkeys(checks, verdict)


_GPU_CHECKS = ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link", "gpu.temperature")
# The tool does not print counters of an inactive link, so they are unknown.
_LINKS_DOWN = {"nvlink.links-active": "FAIL", "nvlink.peer-access": "FAIL", "nvlink.errors-zero": "UNKNOWN"}

FAULTS = (
    Fault(
        "nvlink-down", FaultTarget.GPU, {"nvlinks.inactive": [7]},
        "nvlink -s: link 7 <inactive>; topo -m: NV17", _LINKS_DOWN,
    ),
    Fault(
        "nvlinks-all-down", FaultTarget.GPU, {"nvlinks.inactive": list(range(18))},
        "nvlink -s: all links are inactive; topo -p2p: NS", _LINKS_DOWN,
    ),
    Fault(
        "nvlink-errors", FaultTarget.GPU, {"nvlinks.errors": {"4": {"replay": 12, "recovery": 1, "crc": 40}}},
        "nvlink -e: link 4 counts", {"nvlink.errors-zero": "FAIL"},
    ),
    Fault(
        "gpu-lost", FaultTarget.GPU, {"is_lost": True, "recovery_action": "Reboot"},
        "-q -x: GPU is lost; exit code 15", {
            "gpu.count": "FAIL",
            **_of(("gpu.ecc", "gpu.row-remap", "gpu.temperature"), "UNKNOWN"),
            **_LINKS_DOWN,
            "nvlink.fabric-ready": "FAIL",
        },
    ),
    Fault(
        "gpu-off-bus", FaultTarget.GPU, {"on_bus": False},
        "-q -x and lspci: seven GPUs", {**_of(_GPU_CHECKS, "FAIL"), **_LINKS_DOWN, "nvlink.fabric-ready": "FAIL"},
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
        {"gpu.count": "FAIL", "gpu.ecc": "FAIL", "gpu.row-remap": "WARN"},
    ),
    Fault(
        "ecc-disabled", FaultTarget.GPU, {"ecc.mode": "Disabled"},
        "-q -x: current_ecc Disabled", {"gpu.ecc": "FAIL"},
    ),
    Fault(
        "row-remap-failure", FaultTarget.GPU, {"remapped_rows.uncorrectable": 1, "remapped_rows.failure": "Yes"},
        "-q -x: remapped_row_failure Yes", {"gpu.row-remap": "FAIL"},
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
        "-q -x: fabric In Progress; topo -p2p: NS", _of(("nvlink.peer-access", "nvlink.fabric-ready"), "FAIL"),
    ),
    Fault(
        "link-downgraded", FaultTarget.GPU, {"pcie_gen": 1, "pcie_width": 8},
        "-q -x and sysfs: PCIe gen 1, width 8x", {"gpu.pcie-link": "FAIL"},
    ),
    Fault(
        "overheated", FaultTarget.GPU,
        {
            "temperature_c": 90,
            "temperature_margin_c": -3,
            "hw_slowdown": "Active",
            "hw_thermal_slowdown": "Active",
        },
        "-q -x: 90 C, hardware slowdown Active", {"gpu.temperature": "FAIL"},
    ),
    Fault(
        "driver-unloaded", FaultTarget.NODE, {"driver.loads": False},
        "nvidia-smi exits 9; no /proc/driver/nvidia/version",
        _of((*_GPU_CHECKS, *_LINKS_DOWN, "nvlink.fabric-ready"), "UNKNOWN"),
    ),
    Fault(
        "ib-link-down", FaultTarget.ADAPTER, {"state": "1: DOWN", "phys_state": "2: Polling", "link_downed": 1},
        "sysfs and ibstat: port down; the fabric loses the adapter",
        {"ib.ports-active": "FAIL", "ib.counters-zero": "WARN"},
    ),
    Fault(
        "ib-link-slow", FaultTarget.ADAPTER, {"rate": "200 Gb/sec (4X HDR)"},
        "sysfs: 200 Gb/sec", {"ib.ports-active": "FAIL"},
    ),
    Fault(
        "ib-symbol-errors", FaultTarget.ADAPTER, {"symbol_errors": 65_535},
        "sysfs: counters/symbol_error 65535; ibqueryerrors on the fabric", {"ib.counters-zero": "FAIL"},
    ),
)  # fmt: skip
