"""Simulated nvidia-smi, with the commands and formats that apply and checks use.

nvidia-smi | -L | --version | -q -x [-i N] | --query-gpu=A,B --format=csv[,noheader][,nounits] [-i N]
nvidia-smi -mig 0|1 [-i N] | --gpu-reset -i N | mig [-i N] -lgi | -cgi PROFILE:START,... -C | -dci | -dgi
nvidia-smi nvlink -s|-e [-i N] | topo -m | topo -p2p n|r | --query-compute-apps=pid --format=csv,noheader
"""

from __future__ import annotations

import time
from pathlib import Path

from . import mig, smi_text
from .board import SIMULATED, Board, Facts
from .smi_report import log_xml

# Exit codes of the real tool (nvidia-smi(1), RETURN VALUE).
INVALID_ARGUMENT = 2
NO_SUCH_DEVICE = 6
DRIVER_NOT_LOADED = 9
GPU_LOST = 15
LIBRARY_MISMATCH = 18  # not in the manual page; measured with driver 580
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
_QUERIES = ("--query-gpu=", "--query-remapped-rows=")


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run the program. Return the exit code of the real tool."""
    board = Board(root)
    code, lines = answer(board, arguments)
    print("\n".join(lines), end="\n" if lines else "")  # noqa: T201 - this is a program
    return code


def answer(board: Board, arguments: list[str]) -> tuple[int, list[str]]:
    """Return the exit code and the lines of the output."""
    if arguments == ["--version"]:
        return 0, smi_text.versions(board)
    if board.loaded_version is None:
        return DRIVER_NOT_LOADED, [_NO_DRIVER]
    if board.loaded_version != board.library_version:
        nvml = (board.library_version or "").rpartition(".")[0]
        return LIBRARY_MISMATCH, [
            f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {nvml}"
        ]
    words, wanted = _take_index(arguments)
    gpus = board.gpus if wanted is None else _chosen(board, wanted)
    if not gpus:
        return NO_SUCH_DEVICE, [f"Invalid device id: {wanted}" if wanted else "No devices were found"]
    code = GPU_LOST if any(gpu["is_lost"] for gpu in gpus) else 0
    match words:
        case []:
            return code, smi_text.table(board)
        case ["-L" | "--list-gpus"]:
            return 0, smi_text.listing(board)
        case ["-q", "-x"] | ["-x", "-q"] | ["-qx"]:
            return 0, [log_xml(board, gpus)]
        case ["nvlink", "-s" | "--status"]:
            return 0, smi_text.nvlink_status(board, gpus)
        case ["nvlink", "-e" | "--errorcounters"]:
            return 0, smi_text.nvlink_errors(board, gpus)
        case ["topo", "-m" | "--matrix"]:
            return 0, smi_text.topology(board)
        case ["topo", "-p2p" | "--p2pstatus", "n" | "r"]:
            return 0, smi_text.peer_to_peer(board, is_read=words[-1] == "r")
        case ["--query-compute-apps=pid", "--format=csv,noheader"]:
            return code, []  # no process uses a simulated GPU
        case ["-mig", "0" | "1"]:
            return mig.set_mode(board, gpus, is_enabled=words[1] == "1")
        case ["--gpu-reset"] if wanted is not None:
            return 0, [f"GPU {gpu['pci_bus_id']} was successfully reset. ({SIMULATED})" for gpu in gpus]
        case ["mig", *rest] if (found := mig.answer(board, gpus, rest)) is not None:
            return found
        case [query, form] if query.startswith(_QUERIES) and form.startswith("--format="):
            return _query(board, gpus, query.partition("=")[2].split(","), form.partition("=")[2])
    return INVALID_ARGUMENT, [
        f"Invalid combination of input arguments ({' '.join(arguments)}); {SIMULATED}: only some commands"
    ]


def _query(board: Board, gpus: list[Facts], names: list[str], form_text: str) -> tuple[int, list[str]]:
    from . import smi_query  # imports `dataclasses`, which no other command needs

    form = smi_query.Format.parse(form_text)
    if form is None:
        return INVALID_ARGUMENT, ['"--format=" can only be "csv".']
    for name in names:
        if name not in smi_query.COLUMNS:
            return INVALID_ARGUMENT, [f'Field "{name}" is not a valid field to query.\n']
    return 0, smi_query.query(board, gpus, names, form, now=time.strftime("%Y/%m/%d %H:%M:%S.000"))


def _take_index(arguments: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments without `-i N` or `--id=N`, and N."""
    words, wanted = [], None
    rest = iter(arguments)
    for word in rest:
        if word == "-i":
            wanted = next(rest, "")
        elif word.startswith("--id="):
            wanted = word.partition("=")[2]
        else:
            words.append(word)
    return words, wanted


def _chosen(board: Board, wanted: str) -> list[Facts]:
    """Return the GPUs of a comma-separated list of indexes, UUIDs or bus IDs."""
    names = wanted.lower().split(",")
    return [
        gpu for gpu in board.gpus if {str(gpu["index"]), gpu["uuid"].lower(), gpu["pci_bus_id"].lower()} & set(names)
    ]
