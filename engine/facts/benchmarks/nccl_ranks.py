"""Parser of the program `nccl_ranks`: all-reduce over the GPUs of several nodes with the engine's PyTorch and NCCL."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable

_WHERE = "nccl_ranks"


@dataclass(frozen=True, slots=True)
class RankRun:
    """One run; `time_us` is that of the slowest rank, `wrong` the number of wrong values of all ranks."""

    size_bytes: int
    time_us: float
    wrong: int

    def bus_gb_s(self, ranks: int) -> float:
        """Return the bus bandwidth of an all-reduce (NVIDIA/nccl-tests, doc/PERFORMANCE.md)."""
        return self.size_bytes / self.time_us / 1000 * 2 * (ranks - 1) / ranks


@dataclass(frozen=True, slots=True)
class RankTest:
    """A test of several nodes.

    Args:
        nccl: version of the library; None if the backend is another one.
        devices: distinct names of the GPUs, sorted.
    """

    torch: str
    nccl: str | None
    ranks: int
    devices: tuple[str, ...]
    runs: tuple[RankRun, ...]


def parse_rank_test(text: str) -> RankTest:
    """Parse the output of rank 0.

    Raises:
        Unreadable: a line has another form, a run is missing, or no run exists.
    """
    try:
        head, *rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        if [row["run"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
            raise Unreadable("runs from 1 on", text, where=_WHERE)
        return RankTest(
            torch=str(head["torch"]),
            nccl=None if head["nccl"] is None else str(head["nccl"]),
            ranks=_positive(head["ranks"]),
            devices=tuple(str(name) for name in head["devices"]),
            runs=tuple(_run(row) for row in rows),
        )
    except MALFORMED:
        raise Unreadable("one JSON object per run, after one about the ranks", text, where=_WHERE) from None


def parse_ended_ranks(text: str) -> int:
    """Return the number of ranks of another node that ended without an error.

    Raises:
        Unreadable: the text is not one JSON object with this number.
    """
    try:
        return _positive(json.loads(text)["ended"])
    except MALFORMED:
        raise Unreadable("the number of ranks that ended", text, where=_WHERE) from None


def _run(row: Any) -> RankRun:
    time_us = float(row["time_us"])
    if not math.isfinite(time_us) or time_us <= 0 or isinstance(row["wrong"], bool) or int(row["wrong"]) < 0:
        raise Unreadable("a time and a number of wrong values", str(row), where=_WHERE)
    return RankRun(_positive(row["size_bytes"]), time_us, int(row["wrong"]))


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Unreadable("a positive number", str(value), where=_WHERE)
    return value
