"""Simulated text output of nvidia-smi: the list, the table, NVLink and the topology."""

from __future__ import annotations

import time

from .board import SIMULATED, Board, Facts
from .mig import Mig, device_lines
from .smi_report import CUDA_VERSION, flat, report

_RELATIONS = """\
  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
_P2P_LEGEND = """\
  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""
_ERROR_COUNTERS = ("Replay", "Recovery", "CRC")
_ALL_INACTIVE = "NVML: Unable to retrieve NVLink information as all links are inactive"


def title(board: Board, gpu: Facts) -> str:
    """Return the line of a GPU in lists."""
    return f"GPU {gpu['index']}: {board.facts['model']['product_name']} (UUID: {gpu['uuid']})"


def listing(board: Board) -> list[str]:
    """Return the lines of `nvidia-smi -L`."""
    mig = Mig(board)
    return [line for gpu in board.gpus for line in (title(board, gpu), *device_lines(mig, gpu))]


def active_links(board: Board, gpu: Facts) -> int:
    """Return the number of active NVLinks of a GPU."""
    count: int = board.facts["model"]["nvlink_count"]
    return 0 if gpu["is_lost"] else count - len(gpu["nvlinks"]["inactive"])


def nvlink_status(board: Board, gpus: list[Facts]) -> list[str]:
    """Return the lines of `nvidia-smi nvlink -s`."""
    model, lines = board.facts["model"], []
    for gpu in gpus:
        lines.append(title(board, gpu))
        if active_links(board, gpu) == 0:
            lines.append(_ALL_INACTIVE)
            continue
        for link in range(model["nvlink_count"]):
            speed = "<inactive>" if link in gpu["nvlinks"]["inactive"] else f"{model['nvlink_gb_s']} GB/s"
            lines.append(f"\t Link {link}: {speed}")
    return lines


def nvlink_errors(board: Board, gpus: list[Facts]) -> list[str]:
    """Return the lines of `nvidia-smi nvlink -e`."""
    lines = []
    for gpu in gpus:
        lines.append(title(board, gpu))
        if active_links(board, gpu) == 0:
            lines.append(_ALL_INACTIVE)
            continue
        for link in range(board.facts["model"]["nvlink_count"]):
            if link not in gpu["nvlinks"]["inactive"]:
                errors = gpu["nvlinks"]["errors"].get(str(link), {})
                lines += [f"\t Link {link}: {name} Errors: {errors.get(name.lower(), 0)}" for name in _ERROR_COUNTERS]
    return lines


def topology(board: Board) -> list[str]:
    """Return the lines of `nvidia-smi topo -m`."""
    gpus, nics = board.gpus, board.nics
    heads = [f"GPU{gpu['index']}" for gpu in gpus] + [f"NIC{number}" for number in range(len(nics))]
    lines = ["\t" + "\t".join([*heads, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for head, row in zip(heads, [*gpus, *nics], strict=True):
        cells = [_relation(board, row, column) for column in [*gpus, *nics]]
        tail = [row["cpu_affinity"], str(row["numa_node"]), "N/A"] if "uuid" in row else []
        lines.append("\t".join([head, *cells, *tail]))
    lines += ["", "Legend:", "", *_RELATIONS.splitlines()]
    if nics:
        lines += ["", "NIC Legend:", "", *(f"  NIC{number}: {nic['name']}" for number, nic in enumerate(nics))]
    return [*lines, ""]


def _relation(board: Board, row: Facts, column: Facts) -> str:
    """Return the connection between two devices."""
    if row is column:
        return " X "
    if "uuid" in row and "uuid" in column:
        links = min(active_links(board, row), active_links(board, column))
        if links:
            return f"NV{links}"
    elif row.get("rail", row.get("index")) == column.get("rail", column.get("index")):
        return "PIX"
    return "NODE" if row["numa_node"] == column["numa_node"] else "SYS"


def peer_to_peer(board: Board, *, is_read: bool = False) -> list[str]:
    """Return the lines of `nvidia-smi topo -p2p n`, or `-p2p r` if `is_read`. Without a fabric all cells are NS."""
    gpus = board.gpus

    def cell(row: Facts, column: Facts) -> str:
        if row is column:
            return "X"
        is_connected = active_links(board, row) and active_links(board, column)
        is_ready = board.is_fabric_up and not (row["fabric"]["is_stuck"] or column["fabric"]["is_stuck"])
        may_read = not is_read or (row["has_read_access"] and column["has_read_access"])
        return "OK" if is_connected and is_ready and may_read else "NS"

    lines = [" \t" + "".join(f"GPU{gpu['index']}\t" for gpu in gpus)]
    lines += [f" GPU{row['index']}\t" + "".join(f"{cell(row, column)}\t" for column in gpus) for row in gpus]
    return [*lines, "", "Legend:", "", *_P2P_LEGEND.splitlines()]


def versions(board: Board) -> list[str]:
    """Return the lines of `nvidia-smi --version`."""
    library = board.library_version or ""
    return [
        f"NVIDIA-SMI version  : {library}",
        f"NVML version        : {library.rpartition('.')[0]}",
        f"DRIVER version      : {board.loaded_version or 'Not Found'}",
        f"CUDA Version        : {CUDA_VERSION}",
    ]


_RULE = "+-----------------------------------------+------------------------+----------------------+"
_WIDE = "+-----------------------------------------------------------------------------------------+"
_NO_PROCESSES = f"""\
{_WIDE}
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
{_WIDE}
"""
_HEAD = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""


def table(board: Board) -> list[str]:
    """Return the lines of `nvidia-smi` without arguments."""
    version = board.loaded_version or ""
    summary = f"NVIDIA-SMI {board.library_version:<21}  Driver Version: {version:<14} CUDA Version: {CUDA_VERSION:<8}"
    lines = [time.strftime("%a %b %e %H:%M:%S %Y") + "       ", _WIDE, f"| {summary:<87} |", _RULE, *_HEAD.splitlines()]
    for gpu in board.gpus:
        lines += [*_rows(board, gpu), _RULE]
    return [*lines, "", *_NO_PROCESSES.splitlines(), SIMULATED]


def _rows(board: Board, gpu: Facts) -> list[str]:
    """Return the three lines of a GPU in the table, each with three cells."""
    leaf = flat(report(board, gpu))
    if gpu["is_lost"]:
        rows = [
            (f"{gpu['index']:>3}  {leaf['product_name']}", gpu["pci_bus_id"], "GPU is lost"),
            ("", "", ""),
            ("", "", ""),
        ]
    else:
        persistence = "On" if leaf["persistence_mode"] == "Enabled" else "Off"
        watts = f"{gpu['power_draw_w']:.0f}W / {board.facts['model']['power_limit_w']:>4.0f}W"
        memory = f"0MiB / {board.facts['model']['memory_total_mib']:>6}MiB"
        errors = leaf["ecc_errors/volatile/dram_uncorrectable"] if leaf["ecc_mode/current_ecc"] == "Enabled" else "N/A"
        rows = [
            (f"{gpu['index']:>3}  {leaf['product_name']:<27}{persistence:>5}", f"{gpu['pci_bus_id']} Off", errors),
            (f"N/A  {gpu['temperature_c']:>3}C    {leaf['performance_state']}  {watts:>22}", memory, "0%      Default"),
            ("", "", leaf["mig_mode/current_mig"]),
        ]
    return [f"| {left:<39} | {middle:>22} | {right:>20} |" for left, middle, right in rows]
