"""Faults of the InfiniBand adapters."""

from __future__ import annotations

from .check_groups import PAIR_CHECKS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "ib-link-down", FaultTarget.ADAPTER, {"state": "1: DOWN", "phys_state": "2: Polling", "link_downed": 1},
        "sysfs and ibstat: port down; the fabric loses the adapter",
        {"ib.ports-active": "FAIL", "ib.counters-zero": "WARN"} | of(PAIR_CHECKS, "UNKNOWN"),
    ),
    Fault(
        "ib-link-slow", FaultTarget.ADAPTER, {"rate": "200 Gb/sec (4X HDR)"},
        "sysfs: 200 Gb/sec", {"ib.ports-active": "FAIL"} | {"ib.pair-bandwidth": "FAIL"},
    ),
    Fault(
        "ib-symbol-errors", FaultTarget.ADAPTER, {"symbol_errors": 65_535},
        "sysfs: counters/symbol_error 65535; ibqueryerrors on the fabric", {"ib.counters-zero": "FAIL"},
    ),
    Fault(
        "rail-slow", FaultTarget.ADAPTER, {"write_gbit_s": 196.0},
        "ib_write_bw: 196 Gbit/s, the port shows 400", {"ib.pair-bandwidth": "FAIL"},
    ),
    Fault(
        "rail-late", FaultTarget.ADAPTER, {"write_latency_us": 31.0},
        "ib_write_lat: 31 us", {"ib.pair-latency": "FAIL"},
    ),
    Fault(
        "perftest-hangs", FaultTarget.ADAPTER, {"perftest_hangs": True},
        "ib_write_bw and ib_write_lat do not end", of(PAIR_CHECKS, "UNKNOWN"),
    ),
)  # fmt: skip
