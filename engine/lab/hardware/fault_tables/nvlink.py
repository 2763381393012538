"""Faults of the NVLinks, NVSwitches and the state of the fabric."""

from __future__ import annotations

from .check_groups import GPU_DIAGNOSTICS, LINKS_DOWN, NCCL_CHECKS, RATES, SLOW, WITHOUT_NVLS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "nvlink-down", FaultTarget.GPU, {"nvlinks.inactive": [7]},
        "nvlink -s: link 7 <inactive>; topo -m: NV17", LINKS_DOWN | SLOW,
    ),
    Fault(
        "nvlinks-all-down", FaultTarget.GPU, {"nvlinks.inactive": list(range(18))},
        "nvlink -s: all links are inactive; topo -p2p: NS", {
            **LINKS_DOWN,
            "nvlink.read-access": "FAIL",
            "bandwidth.device-to-device": "UNKNOWN",
        } | WITHOUT_NVLS,
    ),
    Fault(
        "nvlink-errors", FaultTarget.GPU, {"nvlinks.errors": {"4": {"replay": 12, "recovery": 1, "crc": 40}}},
        "nvlink -e: link 4 counts", {"nvlink.errors-zero": "FAIL", "nvlink.no-flapping": "WARN"},
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
            **of(("nvlink.peer-access", "nvlink.read-access", "nvlink.fabric-ready"), "FAIL"),
            **of(("diagnostic.dcgm-r1", *GPU_DIAGNOSTICS), "FAIL"),
            **of(RATES, "UNKNOWN"),
        } | of(NCCL_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "read-access-lost", FaultTarget.GPU, {"has_read_access": False},
        "topo -p2p r: NS; links active",
        {"nvlink.read-access": "FAIL", "bandwidth.device-to-device": "UNKNOWN"},
    ),
    Fault(
        "nvswitch-lost", FaultTarget.NODE, {"nvswitches": ["0000:07:00.0", "0000:08:00.0", "0000:09:00.0"]},
        "lspci: three NVSwitches", {"nvlink.switches-present": "FAIL"},
    ),
)  # fmt: skip
