"""Simulated `all_reduce_perf` of nccl-tests, and the log of NCCL: bandwidth follows from the facts of GPUs and NVLink.

Columns, messages and exit codes are those of nccl-tests 2.19.6 (src/util.cu, src/common.cu). Bandwidths of a healthy
board are measured ones of H200, which has the NVLinks of H100 (stas00/ml-engineering, network/README.md).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from .board import SIMULATED, Board

BUS_GB_S, RING_GB_S, PCIE_GB_S = 480.0, 367.0, 38.0
"""Bus bandwidth at 16 GiB with NVLink SHARP, without it, and without NVLink (the last one is a guess)."""
_HALF_BYTES = 256 << 20
"""Payload at half the bandwidth, so that 1 GiB has about 80 % (guess)."""
NCCL = "2.27.3"
_CODE = 22703
CUDA_ERROR, NOT_IMPLEMENTED = 2, 5
_OPTIONS = ("-b", "-e", "-f", "-g", "-c", "-n", "-w")
_COLUMNS = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run the program. Return the exit code of the real one."""
    board = Board(root)
    if board.facts.get("nccl", {}).get("hangs"):
        time.sleep(24 * 3600)
    code, text, error = answer(board, arguments)
    if (file := os.environ.get("NCCL_DEBUG_FILE")) and os.environ.get("NCCL_DEBUG") == "INFO" and code in (0, 1):
        Path(file).write_text(log(board))
    print(text, end="")  # noqa: T201 - this is a program
    if error:
        os.write(2, f"{error}\n".encode())
    return code


def answer(board: Board, arguments: list[str]) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    words = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if unknown := [each for each in words if each not in _OPTIONS]:
        return 1, "", f"invalid option {unknown[0]}; {SIMULATED}: only {' '.join(_OPTIONS)}"
    low, high, count = int(words["-b"]), int(words["-e"]), int(words.get("-g", "1"))
    if board.loaded_version is None or board.loaded_version != board.library_version:
        return CUDA_ERROR, _failure("no CUDA-capable device is detected"), ""
    if any(gpu["is_lost"] for gpu in board.gpus):
        return CUDA_ERROR, _failure("unknown error"), ""
    visible = board.gpus[: len(board.gpus) - board.facts.get("nccl", {}).get("hidden_gpus", 0)]
    if len(visible) < count:
        found = f"Invalid number of GPUs: {count} requested but only {len(visible)} were found."
        return NOT_IMPLEMENTED, "", f"{found}\nPlease check the number of processes and GPUs per process."
    if not board.is_fabric_up or any(gpu["fabric"]["is_stuck"] for gpu in visible):
        return CUDA_ERROR, _failure("system not yet initialized"), ""
    wrong = board.facts.get("nccl", {}).get("wrong", 0)
    rates = {size: _rate(board, size) for size in _sizes(low, high, int(words.get("-f", "2")))}
    errors = 2 * wrong * len(rates)
    text = _header(board, count, low, high)
    text += "".join(_row(size, rate, count, wrong) for size, rate in rates.items())
    text += f"# Out of bounds values : {errors} {'FAILED' if errors else 'OK'}\n"
    text += f"# Avg bus bandwidth    : {sum(rates.values()) / len(rates):g} \n#\n"
    text += "# Collective test concluded: all_reduce_perf\n#\n"
    return int(bool(errors)), text, ""


def log(board: Board) -> str:
    """Return the lines of NCCL_DEBUG=INFO about version and NVLink SHARP."""
    has_nvls = _has_nvls(board)
    lines = [f"node:77:77 [0] NCCL INFO NCCL version {NCCL}+cuda13.0 ({SIMULATED})"]
    for index, _ in enumerate(board.gpus):
        head = f"node:77:{90 + index} [{index}] NCCL INFO"
        word, channels = ("", 16) if has_nvls else ("not ", 0)
        lines.append(f"{head} NVLS multicast support is {word}available on dev {index} (NVLS_NCHANNELS {channels})")
        counts = f"24 coll channels, 24 collnet channels, {channels} nvls channels, 32 p2p channels"
        lines.append(f"{head} {counts}, 32 p2p channels per peer")
    return "\n".join(lines) + "\n"


def _has_nvls(board: Board) -> bool:
    return board.facts.get("nccl", {}).get("nvls", True) and all(_active_links(gpu) for gpu in board.gpus)


def _active_links(gpu: dict[str, object]) -> int:
    links: dict[str, list[int]] = gpu["nvlinks"]  # type: ignore[assignment]
    return 18 - len(links["inactive"])


def _rate(board: Board, size: int) -> float:
    """Return the bus bandwidth of a payload; the slowest GPU limits it."""
    fewest = min(_active_links(gpu) for gpu in board.gpus)
    best = (BUS_GB_S if _has_nvls(board) else RING_GB_S) * fewest / 18 if fewest else PCIE_GB_S
    limits = [gpu["nccl_gb_s"] for gpu in board.gpus if gpu.get("nccl_gb_s") is not None]
    best = min([best, *limits])
    return round(best * size / (size + _HALF_BYTES) * (1 + _HALF_BYTES / (16 << 30)), 2)


def _sizes(low: int, high: int, factor: int) -> list[int]:
    sizes = [low]
    while sizes[-1] * factor <= high and factor > 1:
        sizes.append(sizes[-1] * factor)
    return sizes


def _header(board: Board, count: int, low: int, high: int) -> str:
    product = board.facts["model"]["product_name"]
    ranks = "".join(
        f"#  Rank {index:2} Group  0 Pid     77 on       node device {index:2} "
        f"[0000:{gpu['pci_bus_id'].split(':')[1].lower()}:00] {product}\n"
        for index, gpu in enumerate(board.gpus[:count])
    )
    return (
        f"# nccl-tests version 2.19.6 nccl-headers={_CODE} nccl-library={_CODE}\n# {SIMULATED}\n"
        "# Collective test starting: all_reduce_perf\n"
        f"# nThread 1 nGpus {count} minBytes {low} maxBytes {high} step: 2(factor) warmup iters: 1 iters: 20 "
        f"agg iters: 1 validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n{ranks}{_COLUMNS}"
    )


def _row(size: int, rate: float, count: int, wrong: int) -> str:
    algorithm = rate / (2 * (count - 1) / count)
    timing = f"  {size / algorithm / 1000:7.1f}  {algorithm:6.2f}  {rate:6.2f}  {wrong:6}"
    return f"{size:12}  {size // 4:12}     float     sum      -1{timing}{timing}\n"


def _failure(message: str) -> str:
    return f"node: Test CUDA failure common.cu:1005 '{message}' ({SIMULATED})\n .. node pid 77: Test failure\n"
