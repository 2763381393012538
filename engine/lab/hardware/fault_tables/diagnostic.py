"""Faults of the diagnostics of DCGM and copy rates."""

from __future__ import annotations

from .check_groups import ACTIVE, GPU_DIAGNOSTICS, LONG_DIAGNOSTICS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "memory-test-fails", FaultTarget.GPU, {"failed_tests": ["memory"]},
        "dcgmi diag: memory Fail", of(("diagnostic.dcgm-r2", *LONG_DIAGNOSTICS), "FAIL"),
    ),
    Fault(
        "memory-pattern-fails", FaultTarget.GPU, {"failed_tests": ["memtest"]},
        "dcgmi diag -r 4: memtest Fail", {"diagnostic.dcgm-r4": "FAIL"},
    ),
    Fault(
        "wrong-results", FaultTarget.GPU, {"failed_tests": ["diagnostic"]},
        "dcgmi diag: miscompares under load", of((*LONG_DIAGNOSTICS, "diagnostic.soak"), "FAIL"),
    ),
    Fault(
        "memory-slow", FaultTarget.GPU, {"memory_mb_s": 1_400_000},
        "dcgmi diag: memory bandwidth of 1400 GB/s",
        of((*LONG_DIAGNOSTICS, "diagnostic.memory-bandwidth"), "FAIL"),
    ),
    Fault(
        "power-short", FaultTarget.GPU, {"highest_power_w": 450.0},
        "dcgmi diag: 450 W under load", of((*LONG_DIAGNOSTICS, "diagnostic.targeted-power"), "FAIL"),
    ),
    Fault(
        "pcie-slow", FaultTarget.GPU, {"host_gb_s": 24.0},
        "nvbandwidth: 24 GB/s between host and GPU; the link reports full width and speed",
        of(("bandwidth.host-to-device", "bandwidth.device-to-host"), "FAIL"),
    ),
    Fault(
        "peer-slow", FaultTarget.GPU, {"peer_gb_s": 180.0},
        "nvbandwidth: 180 GB/s to every other GPU; all links active", {"bandwidth.device-to-device": "FAIL"},
    ),
    Fault(
        "diagnostic-incomplete", FaultTarget.GPU, {"has_no_result": True},
        "dcgmi diag: no result of one GPU",
        of(GPU_DIAGNOSTICS, "UNKNOWN"),
    ),
    Fault(
        "tests-skipped", FaultTarget.NODE, {"diagnostics.skipped": ["memory", "pcie"]},
        "dcgmi diag: Skip", of(("diagnostic.dcgm-r2", *LONG_DIAGNOSTICS), "UNKNOWN"),
    ),
    Fault(
        "dcgm-version-3", FaultTarget.NODE, {"diagnostics.dcgm_major": 3},
        "dcgmi diag: the form of DCGM 3.x, healthy", {},
    ),
    Fault(
        "diagnostic-hangs", FaultTarget.NODE, {"diagnostics.hangs": True},
        "dcgmi diag and nvbandwidth do not end",
        of(ACTIVE, "UNKNOWN"),
    ),
)  # fmt: skip
