"""Parser of nccl-tests: the output of `all_reduce_perf` and the other collectives.

    test = parse_nccl_test(text)
    test.ranks[0].device                  # "NVIDIA H100 80GB HBM3"
    test.row(8 << 30).bus_gb_s            # the slower of both directions

- The summary must exist, and its average must agree with the rows. A missing row changes the average.
- Size, time and bandwidth of a row must agree.
- The rows of old releases have a column `error` instead of `#wrong`; both are None if the test did not compare results.

Source: NVIDIA/nccl-tests 2.19.6, src/util.cu and src/common.cu; captures of 2021 and 2024; read 2026-11-28.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_WHERE = "nccl-tests"
_PREFIX = re.compile(r"^\d+: ?")  # of a launcher that numbers the lines of each process
_LOG = re.compile(r"^(?:\[[^\]]*\] )?\S+:\d+:\d+ \[\d+\] NCCL [A-Z]+ ")
_RANK = re.compile(
    r"^#\s+Rank\s+(?P<rank>\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(?P<host>\S+)\s+"
    r"device\s+(?P<index>\d+)\s+\[(?P<bus>[0-9a-fA-Fx:]+)\]\s+(?P<device>\S.*?)\s*$"
)
_OUT_OF_BOUNDS = re.compile(r"^# Out of bounds values\s*: (\d+) (OK|FAILED)\s*$")
_AVERAGE = re.compile(r"^# Avg bus bandwidth\s*: (\S+)\s*(?:OK|FAILED)?\s*$")
_VERSIONS = re.compile(r"^# nccl-tests version (\S+) nccl-headers=\d+ nccl-library=(\d+)\s*$")
_STARTING = re.compile(r"^# Collective test starting: (\S+)\s*$")
_COLUMNS = ("time", "algbw", "busbw")
_WRONG = frozenset({"#wrong", "error"})
_TIMES, _WIDTH = 2, 4
_AGREES, _ROUNDING_GB_S = 0.02, 0.02
"""Relative and absolute difference that rounding of the printed columns explains (four significant digits)."""


@dataclass(frozen=True, slots=True)
class NcclRank:
    """A rank and its GPU; `host` is a host name, `bus` is as printed."""

    rank: int
    host: str
    index: int
    bus: str
    device: str


@dataclass(frozen=True, slots=True)
class NcclTiming:
    """One measurement. `wrong` is the number of wrong results; None if they were not compared."""

    time_us: float
    algorithm_gb_s: float
    bus_gb_s: float
    wrong: int | None


@dataclass(frozen=True, slots=True)
class NcclRow:
    """The measurements of one payload."""

    size_bytes: int
    elements: int
    datatype: str
    out_of_place: NcclTiming
    in_place: NcclTiming

    @property
    def bus_gb_s(self) -> float:
        """Bus bandwidth of the slower measurement, in GB/s."""
        return min(self.out_of_place.bus_gb_s, self.in_place.bus_gb_s)

    @property
    def wrong(self) -> int | None:
        """Number of wrong results of both measurements; None if one was not compared."""
        counts = (self.out_of_place.wrong, self.in_place.wrong)
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def bus_factor(self) -> float | None:
        """Bus bandwidth divided by algorithm bandwidth, which depends on the number of ranks; None if too small."""
        timing = self.out_of_place
        return timing.bus_gb_s / timing.algorithm_gb_s if timing.algorithm_gb_s > 1 else None


@dataclass(frozen=True, slots=True)
class NcclTest:
    """One run.

    Args:
        program: such as `all_reduce_perf`; None in old releases.
        version: of nccl-tests; None in old releases.
        nccl_code: version code of the NCCL library, such as 22703; None in old releases.
        ranks: in the order printed; empty if none is printed.
        rows: in the order printed.
    """

    program: str | None
    version: str | None
    nccl_code: int | None
    ranks: tuple[NcclRank, ...]
    rows: tuple[NcclRow, ...]
    out_of_bounds: int
    average_gb_s: float

    def row(self, size_bytes: int) -> NcclRow:
        """Return the row of a payload.

        Raises:
            Unreadable: the test has no row of this size, or more than one.
        """
        found = [row for row in self.rows if row.size_bytes == size_bytes]
        if len(found) != 1:
            raise Unreadable(
                f"one row of {size_bytes} bytes", f"{len(found)} of {len(self.rows)} rows", where=_WHERE,
                is_description=True,
            )  # fmt: skip
        return found[0]


def parse_nccl_test(text: str) -> NcclTest:
    """Parse the output of one run.

    Raises:
        Unreadable: a line is unknown, the summary is missing, or values contradict each other.
    """
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not _LOG.match(line)]
    comments = [line for line in lines if line.startswith("#")]
    out_of_bounds, verdict = _one(comments, _OUT_OF_BOUNDS, "`# Out of bounds values : N`").groups()
    if (integer(out_of_bounds) == 0) is not (verdict == "OK"):
        raise Unreadable("OK without wrong values", f"{out_of_bounds} {verdict}", where=_WHERE)
    average = _number(_one(comments, _AVERAGE, "`# Avg bus bandwidth : N`")[1], "the average")
    rows = _rows(lines)
    _require_average(rows, average)
    versions = next((match for line in comments if (match := _VERSIONS.match(line))), None)
    return NcclTest(
        program=next((match[1] for line in comments if (match := _STARTING.match(line))), None),
        version=versions[1] if versions else None,
        nccl_code=integer(versions[2]) if versions else None,
        ranks=_ranks(comments),
        rows=rows,
        out_of_bounds=integer(out_of_bounds),
        average_gb_s=average,
    )


def _one(lines: list[str], pattern: re.Pattern[str], expected: str) -> re.Match[str]:
    found = [match for line in lines if (match := pattern.match(line))]
    if len(found) != 1:
        raise Unreadable(f"one line {expected}", f"{len(found)}", where=_WHERE, is_description=True)
    return found[0]


def _ranks(comments: list[str]) -> tuple[NcclRank, ...]:
    found = tuple(
        NcclRank(integer(match["rank"]), match["host"], integer(match["index"]), match["bus"], match["device"])
        for line in comments
        if (match := _RANK.match(line))
    )
    if [each.rank for each in found] != list(range(len(found))):
        raise Unreadable("each rank once", " ".join(str(each.rank) for each in found), where=_WHERE)
    return found


def _rows(lines: list[str]) -> tuple[NcclRow, ...]:
    columns: list[str] = []
    rows = []
    for line in lines:
        words = line.removeprefix("#").split()
        if line.startswith("#"):
            if words[:2] == ["size", "count"]:
                columns = _checked(words)
            continue
        if not columns or len(words) != len(columns):
            raise Unreadable("a row of sizes and bandwidths", line, where=_WHERE)
        rows.append(_row(columns, words))
    if not rows:
        raise Unreadable("a row of sizes and bandwidths", "none", where=_WHERE, is_description=True)
    return tuple(rows)


def _checked(columns: list[str]) -> list[str]:
    """Return the names of the columns if both measurements have time, both bandwidths and the wrong results."""
    starts = [index for index, name in enumerate(columns) if name == _COLUMNS[0]]
    measured = [columns[start : start + _WIDTH] for start in starts]
    if len(starts) != _TIMES or any(tuple(each[:-1]) != _COLUMNS or each[-1] not in _WRONG for each in measured):
        raise Unreadable("columns of two measurements", " ".join(columns), where=_WHERE)
    return columns


def _row(columns: list[str], words: list[str]) -> NcclRow:
    first, second = (index for index, name in enumerate(columns) if name == _COLUMNS[0])
    size = _integer(words[0], "a size")
    return NcclRow(
        size_bytes=size,
        elements=_integer(words[1], "a number of elements"),
        datatype=words[2],
        out_of_place=_timing(size, words[first : first + _WIDTH]),
        in_place=_timing(size, words[second : second + _WIDTH]),
    )


def _timing(size: int, words: list[str]) -> NcclTiming:
    time_us, algorithm, bus = (
        _number(word, name) for word, name in zip(words, ("a time", "algbw", "busbw"), strict=False)
    )
    wrong = None if words[3] == "N/A" else _number(words[3], "the wrong results")
    if time_us <= 0 or abs(size / time_us / 1000 - algorithm) > _AGREES * algorithm + _ROUNDING_GB_S:
        raise Unreadable(f"algbw of {size} bytes in {words[0]} us", words[1], where=_WHERE)
    return NcclTiming(time_us, algorithm, bus, None if wrong is None else math.ceil(wrong))


def _require_average(rows: tuple[NcclRow, ...], average: float) -> None:
    """Compare the average of the summary with the rows (both measurements of all rows)."""
    values = [timing.bus_gb_s for row in rows for timing in (row.out_of_place, row.in_place)]
    mean = sum(values) / len(values)
    if abs(mean - average) > _AGREES * mean + _ROUNDING_GB_S:
        raise Unreadable(f"rows with an average of {average:g} GB/s", f"{mean:g} GB/s", where=_WHERE)


def _integer(word: str, name: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) <= 20):
        raise Unreadable(name, word, where=_WHERE)
    return int(word)


def _number(word: str, name: str) -> float:
    if not re.fullmatch(r"\d{1,20}(\.\d{1,20})?([eE][+-]?\d{1,3})?", word) or not math.isfinite(float(word)):
        raise Unreadable(name, word, where=_WHERE)
    return float(word)
