"""Faults of the collectives of NCCL."""

from __future__ import annotations

from .check_groups import NCCL_CHECKS, SLOW, WITHOUT_NVLS
from .fault import Fault, FaultTarget, of

FAULTS = (
    Fault(
        "nccl-slow", FaultTarget.GPU, {"nccl_gb_s": 402.0},
        "all_reduce_perf: 402 GB/s, NVLink and log unchanged", SLOW,
    ),
    Fault(
        "nccl-wrong", FaultTarget.NODE, {"nccl.wrong": 5},
        "all_reduce_perf: #wrong 5, Out of bounds values FAILED, exit code 1", {"nccl.results-correct": "FAIL"},
    ),
    Fault(
        "nvls-off", FaultTarget.NODE, {"nccl.nvls": False},
        "log of NCCL: multicast not available; all_reduce_perf: 367 GB/s", WITHOUT_NVLS,
    ),
    Fault(
        "nccl-gpu-hidden", FaultTarget.NODE, {"nccl.hidden_gpus": 1},
        "all_reduce_perf: 8 GPUs requested, 7 found; nvidia-smi shows eight", of(NCCL_CHECKS, "FAIL"),
    ),
    Fault(
        "nccl-hangs", FaultTarget.NODE, {"nccl.hangs": True},
        "all_reduce_perf does not end", of(NCCL_CHECKS, "UNKNOWN"),
    ),
)  # fmt: skip
