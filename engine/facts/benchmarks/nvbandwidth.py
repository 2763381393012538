"""Parser of nvbandwidth, as text (0.1 to 0.8) and as JSON (`-j`, from 0.5): one matrix of rates per test.

Source: NVIDIA/nvbandwidth v0.8, json_output.cpp and output.cpp; the text of v0.6 was compared with a capture.

- Host tests print one row, whose columns are the GPUs. Tests between GPUs print one row and one column per GPU, with
  `N/A` or 0.00 on the diagonal.
- Version 0.8 prints a test that failed after its start twice in JSON: `Running`, then its status.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ..numbers import integer
from ..unreadable import MALFORMED, Unreadable

WHERE = "nvbandwidth"
_VERSION = re.compile(r"^nvbandwidth Version: v?(\S+)$", re.MULTILINE)
_DEVICE = re.compile(r"^Device (\d+): (.+?) \(([0-9a-fA-F:.]+)\)$", re.MULTILINE)
_DEVICE_OF_LIST = re.compile(r"(\d+): (.+?) \(([0-9a-fA-F:.]+)\)")
_RUNNING = re.compile(r"^Running (\w+)\.$")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ABSENT = "N/A"

Matrix = tuple[tuple[float | None, ...], ...]
"""Rates in GB/s by row and column; None where the tool prints `N/A` or 0."""


@dataclass(frozen=True, slots=True)
class BandwidthTest:
    """A test.

    Args:
        status: `Passed`, or the word of the tool, such as `Waived` or `Error`.
        matrix: empty unless the status is `Passed`.
    """

    name: str
    status: str
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """The output of one run.

    Args:
        version: without `v`.
        devices: PCI addresses by CUDA index, as printed.
        tests: by name.
    """

    version: str
    devices: Mapping[int, str]
    tests: Mapping[str, BandwidthTest]

    def matrix(self, name: str) -> Matrix:
        """Return the rates of a test.

        Raises:
            Unreadable: the test did not run, or did not pass.
        """
        test = self.tests.get(name)
        if test is None or test.status != "Passed":
            raise Unreadable(f"a result of {name}", "none" if test is None else test.status, where=WHERE)
        return test.matrix


def parse_nvbandwidth(text: str) -> Bandwidths:
    """Parse the output of either form.

    Raises:
        Unreadable: the output is empty, incomplete or of an unknown form, or states an error.
    """
    return _parse_json(text) if text.lstrip().startswith("{") else _parse_text(text)


def _parse_json(text: str) -> Bandwidths:
    try:
        root = json.loads(text)
    except MALFORMED:
        raise Unreadable("one JSON document", text, where=WHERE) from None
    body = root.get("nvbandwidth") if isinstance(root, dict) else None
    if not isinstance(body, dict):
        raise Unreadable("the key nvbandwidth", text, where=WHERE)
    if "error" in body:
        raise Unreadable("results", str(body["error"]), where=WHERE)
    version, listed, cases = body.get("version"), body.get("GPU Device list"), body.get("testcases")
    if not isinstance(version, str) or not isinstance(listed, list) or not isinstance(cases, list):
        raise Unreadable("version, GPU Device list and testcases", ", ".join(body), where=WHERE)
    devices = {}
    for line in listed:
        match = _DEVICE_OF_LIST.match(str(line))
        if match is None or integer(match[1]) in devices:
            raise Unreadable("`N: name (address)` of each GPU", str(line), where=WHERE)
        devices[integer(match[1])] = match[3]
    return Bandwidths(version.removeprefix("v"), devices, _by_name(map(_case, cases)))


def _case(case: object) -> BandwidthTest:
    if not isinstance(case, dict) or not isinstance(case.get("name"), str) or not isinstance(case.get("status"), str):
        raise Unreadable("name and status of a test", str(case), where=WHERE)
    rows = case.get("bandwidth_matrix", [])
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Unreadable("a bandwidth_matrix of rows", str(rows), where=WHERE)
    return _passed(case["name"], case["status"], tuple(tuple(map(_rate, row)) for row in rows))


def _parse_text(text: str) -> Bandwidths:
    version = _VERSION.search(text)
    if version is None:
        raise Unreadable("`nvbandwidth Version:`", text, where=WHERE)
    found = _DEVICE.findall(text)
    devices = {integer(index): address for index, _, address in found}
    if not devices or len(devices) != len(found):
        raise Unreadable("a line `Device N: name (address)` for each GPU", text, where=WHERE)
    return Bandwidths(version[1], devices, _by_name(_text_tests(text.splitlines())))


def _text_tests(lines: list[str]) -> Iterator[BandwidthTest]:
    """Yield the tests: `Running`, description, header, rows, a blank line, and `SUM` with the name."""
    begins = [number for number, line in enumerate(lines) if _RUNNING.match(line.strip())]
    for begin, end in pairwise([*begins, len(lines)]):
        name = lines[begin].strip().removeprefix("Running ").removesuffix(".")
        block = [line.strip() for line in lines[begin + 1 : end]]
        status = next((line.partition(":")[0] for line in block if re.match(r"(Waived|Error|Not Found):", line)), "")
        sums = [number for number, line in enumerate(block) if line.startswith(f"SUM {name} ")]
        if status and not sums:
            yield BandwidthTest(name, status, ())
            continue
        if len(sums) != 1:
            raise Unreadable(f"one line `SUM {name}`", lines[begin], where=WHERE)
        yield _passed(name, "Passed", tuple(_text_rows(name, [line for line in block[1 : sums[0]] if line])))


def _text_rows(name: str, lines: list[str]) -> Iterator[tuple[float | None, ...]]:
    """Yield the rows below the header of column numbers."""
    columns = lines[0].split() if lines else []
    if not columns or columns != [str(number) for number in range(len(columns))]:
        raise Unreadable(f"column numbers of {name}", lines[0] if lines else "", where=WHERE)
    for number, line in enumerate(lines[1:]):
        index, *cells = line.split()
        if index != str(number) or len(cells) > len(columns):
            raise Unreadable(f"row {number} of {name}", line, where=WHERE)
        yield tuple(map(_rate, cells))


def _rate(cell: object) -> float | None:
    text = str(cell)
    if text == _ABSENT:
        return None
    if not _NUMBER.fullmatch(text) or not math.isfinite(rate := float(text)):
        raise Unreadable("a rate", text, where=WHERE)
    return rate or None


def _passed(name: str, status: str, matrix: Matrix) -> BandwidthTest:
    """Return a test; its rows must have equal lengths if it passed."""
    if status != "Passed":
        return BandwidthTest(name, status, ())
    if not matrix or not matrix[0] or len({len(row) for row in matrix}) != 1:
        raise Unreadable(f"rows of equal length of {name}", str(len(matrix)), where=WHERE)
    return BandwidthTest(name, status, matrix)


def _by_name(tests: Iterator[BandwidthTest]) -> dict[str, BandwidthTest]:
    """Return the tests by name; a later status of a test that was `Running` replaces it."""
    found: dict[str, BandwidthTest] = {}
    for test in tests:
        if test.name in found and found[test.name].status != "Running":
            raise Unreadable(f"one result of {test.name}", test.status, where=WHERE)
        found[test.name] = test
    if not found:
        raise Unreadable("at least one test", "none", where=WHERE, is_description=True)
    return found


def median_matrix(matrices: Sequence[Matrix]) -> Matrix:
    """Return the median of each cell; None where any of the matrices has no rate.

    Raises:
        Unreadable: the matrices have different sizes.
    """
    sizes = {(len(each), len(each[0]) if each else 0) for each in matrices}
    if len(sizes) != 1:
        raise Unreadable("matrices of one size", str(sorted(sizes)), where=WHERE)
    return tuple(tuple(map(_median, zip(*rows, strict=True))) for rows in zip(*matrices, strict=True))


def _median(cells: Sequence[float | None]) -> float | None:
    rates = [cell for cell in cells if cell is not None]
    return median(rates) if len(rates) == len(cells) else None
