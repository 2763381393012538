"""Simulated nvbandwidth: copies between hosts and GPUs, in the text and JSON forms of v0.8.

nvbandwidth [-j] -t TEST [TEST ...]

The rate of a host copy follows the PCIe link; that of a copy between GPUs follows the active NVLinks of both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .board import SIMULATED, Board, Facts
from .dcgm_diagnostic import has_cuda

VERSION = "v0.8"
HOST_TESTS = {"host_to_device_memcpy_ce": "->", "device_to_host_memcpy_ce": "<-"}
PEER_TESTS = {"device_to_device_memcpy_read_ce": "->", "device_to_device_memcpy_write_ce": "<-"}
_LANE_GT_S = {1: 2.0, 2: 4.0, 3: 7.88, 4: 15.75, 5: 31.51}
"""Gigatransfers per second and lane, without the bits of the line code."""
_FULL_LINK = 16 * _LANE_GT_S[5]
Matrix = list[list[float | None]]


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run the program. Return the exit code."""
    board = Board(root)
    code, text = answer(board, arguments)
    if board.facts["diagnostics"]["hangs"]:
        from .dcgm_diagnostic import hang

        hang()
    sys.stdout.write(text + "\n")
    return code


def answer(board: Board, arguments: list[str]) -> tuple[int, str]:
    """Return exit code and output."""
    is_json = arguments[:1] == ["-j"]
    words = arguments[1:] if is_json else arguments
    tests = words[1:]
    if words[:1] != ["-t"] or not tests or not {*tests} <= {*HOST_TESTS, *PEER_TESTS}:
        return 1, f"ERROR: Invalid Arguments: {' '.join(arguments)}; {SIMULATED}"
    gpus = [gpu for gpu in board.gpus if not gpu["is_lost"]] if board.loaded_version else []
    error = _error(board, gpus)
    if error:
        return 1, json.dumps({"nvbandwidth": {"error": error, "version": VERSION}}, indent=1) if is_json else error
    matrices = {test: _matrix(board, gpus, test) for test in tests}
    return 0, (_json if is_json else _text)(board, gpus, matrices)


def _error(board: Board, gpus: list[Facts]) -> str:
    """Return the message if CUDA cannot start on the node."""
    if not gpus:
        return "CUDA_ERROR_NO_DEVICE no CUDA-capable device is detected"
    if not all(has_cuda(board, gpu) for gpu in gpus):
        return "CUDA_ERROR_SYSTEM_NOT_READY system not yet initialized"
    return ""


def _matrix(board: Board, gpus: list[Facts], test: str) -> Matrix:
    if test in HOST_TESTS:
        return [[_host_rate(gpu) for gpu in gpus]]
    return [[None if one is other else _peer_rate(board, one, other) for other in gpus] for one in gpus]


def _host_rate(gpu: Facts) -> float:
    return round(float(gpu["host_gb_s"]) * _LANE_GT_S[gpu["pcie_gen"]] * gpu["pcie_width"] / _FULL_LINK, 2)


def _peer_rate(board: Board, one: Facts, other: Facts) -> float | None:
    """Return the rate between two GPUs; None if peer access is not possible."""
    links = min(board.facts["model"]["nvlink_count"] - len(gpu["nvlinks"]["inactive"]) for gpu in (one, other))
    if not links or not (one["has_read_access"] and other["has_read_access"]):
        return None
    share = links / board.facts["model"]["nvlink_count"]
    return round(min(float(one["peer_gb_s"]), float(other["peer_gb_s"])) * share, 2)


def _cell(rate: float | None) -> str:
    return "N/A" if rate is None else f"{rate:.2f}"


def _name(board: Board, gpu: Facts) -> str:
    return f"{board.facts['model']['product_name']} ({gpu['pci_bus_id'].removesuffix('.0').lower()})"


def _json(board: Board, gpus: list[Facts], matrices: dict[str, Matrix]) -> str:
    cases = [
        {
            "bandwidth_description": f"memcpy CE bandwidth (GB/s), {SIMULATED}",
            "bandwidth_matrix": [[_cell(rate) for rate in row] for row in rows],
            "name": test,
            "status": "Passed",
            "sum": sum(rate or 0 for row in rows for rate in row),
        }
        for test, rows in matrices.items()
    ]
    body = {
        "CUDA Runtime Version": 13000,
        "Driver Version": board.loaded_version,
        "GPU Device list": [f"{number}: {_name(board, gpu)}: (simulated)" for number, gpu in enumerate(gpus)],
        "git_version": VERSION,
        "testcases": cases,
        "version": VERSION,
    }
    return json.dumps({"nvbandwidth": body}, indent=1)


def _text(board: Board, gpus: list[Facts], matrices: dict[str, Matrix]) -> str:
    lines = [f"nvbandwidth Version: {VERSION}", f"Built from Git version: {VERSION}", ""]
    lines += [
        "CUDA Runtime Version: 13000",
        "CUDA Driver Version: 13000",
        f"Driver Version: {board.loaded_version}",
        "",
    ]
    lines += [f"Device {number}: {_name(board, gpu)}" for number, gpu in enumerate(gpus)]
    for test, rows in matrices.items():
        row = "CPU" if test in HOST_TESTS else "GPU"
        arrow = (HOST_TESTS | PEER_TESTS)[test]
        lines += ["", f"Running {test}.", f"memcpy CE {row}(row) {arrow} GPU(column) bandwidth (GB/s)"]
        lines.append(" " * 2 + "".join(f"{column:10}" for column in range(len(gpus))))
        lines += [f" {number}" + "".join(f"{_cell(rate):>10}" for rate in rates) for number, rates in enumerate(rows)]
        lines += ["", f"SUM {test} {sum(rate or 0 for rates in rows for rate in rates):.2f}"]
    return "\n".join([*lines, "", f"NOTE: {SIMULATED}: no data was copied.", ""])
