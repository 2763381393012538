"""Simulated DCGM exporter: metrics of the node's simulated GPUs, over TLS with client certificates.

dcgm-exporter -f COUNTERS -r HOST:PORT -a ADDRESS:PORT --web-config-file FILE -c MILLISECONDS

Form of the output and names of the labels: NVIDIA/dcgm-exporter 4.8.1. It reads the facts at every request, and serves
the fields of the counters file that the facts contain. As the real one with `-r`, it exits without a host engine.
"""

from __future__ import annotations

import argparse
import http.server
import re
import signal
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from . import daemon
from .board import SIMULATED, Board, Facts

_XID = re.compile(r"NVRM: Xid \(PCI:(?P<bus>[0-9a-fA-F:.]+)\): (?P<code>\d+)")
_Value = Callable[[Board, Facts], float]


def _links(name: str) -> _Value:
    return lambda _board, gpu: sum(errors.get(name, 0) for errors in gpu["nvlinks"]["errors"].values())


_VALUES: dict[str, _Value] = {
    "DCGM_FI_DEV_GPU_TEMP": lambda _board, gpu: gpu["temperature_c"],
    "DCGM_FI_DEV_POWER_USAGE": lambda _board, gpu: gpu["power_draw_w"],
    "DCGM_FI_DEV_GPU_UTIL": lambda _board, _gpu: 0,
    "DCGM_FI_DEV_FB_USED": lambda _board, _gpu: 0,
    "DCGM_FI_DEV_FB_FREE": lambda _board, gpu: gpu["gpu_memory_mib"],
    "DCGM_FI_DEV_XID_ERRORS": lambda board, gpu: (_xids(board, gpu) or [0])[-1],
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": lambda _board, gpu: sum(
        count for name, count in gpu["ecc"]["volatile"].items() if "uncorrectable" in name
    ),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": lambda _board, gpu: gpu["pcie_replays"],
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": lambda _board, gpu: gpu["remapped_rows"]["uncorrectable"],
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": lambda _board, gpu: gpu["remapped_rows"]["failure"] == "Yes",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": _links("crc"),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": _links("recovery"),
}


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Serve until a signal comes. Return the exit code."""
    if "--version" in arguments:
        daemon.log(f"DCGM Exporter version {version}, {SIMULATED}")
        return 0
    parser = argparse.ArgumentParser(prog="dcgm-exporter", allow_abbrev=False)
    parser.add_argument("-f", "--collectors", type=Path, required=True)
    parser.add_argument("-r", "--remote-hostengine-info", required=True)
    parser.add_argument("-a", "--address", required=True)
    parser.add_argument("-c", "--collect-interval", type=int, default=30_000)
    parser.add_argument("--web-config-file", type=Path, required=True)
    options = parser.parse_args(arguments)
    if not Board(root).has_host_engine:
        daemon.log(f"Failed to initialize DCGM: no host engine at {options.remote_hostengine_info}")
        return 1
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    host, _, port = options.address.rpartition(":")
    server = http.server.ThreadingHTTPServer((host, int(port)), _handler(options.collectors, root))
    server.socket = _tls(options.web_config_file).wrap_socket(server.socket, server_side=True)
    daemon.log(f"dcgm-exporter {version} serves at {options.address}, {SIMULATED}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait(wanted)
    return 0


def metrics(counters: str, board: Board) -> str:
    """Return the metrics of the fields of a counters file, in Prometheus' text form."""
    lines = []
    for row in counters.splitlines():
        name, kind, text = (*(word.strip() for word in row.split(",", 2)), "", "")[:3]
        if name.startswith("#") or (name not in _VALUES and name != "DCGM_EXP_XID_ERRORS_COUNT"):
            continue
        lines += [f"# HELP {name} {text} ({SIMULATED})", f"# TYPE {name} {kind}"]
        for gpu in board.gpus if board.loaded_version else []:
            labels = _labels(board, gpu)
            if name in _VALUES:
                lines.append(f"{name}{{{labels}}} {float(_VALUES[name](board, gpu)):g}")
            else:
                found = _xids(board, gpu)
                lines += [f'{name}{{{labels},xid="{code}"}} {found.count(code)}' for code in sorted(set(found))]
    return "\n".join([*lines, ""])


def _labels(board: Board, gpu: Facts) -> str:
    bus, index = gpu["pci_bus_id"], gpu["index"]
    values = {"gpu": index, "UUID": gpu["uuid"], "pci_bus_id": bus, "device": f"nvidia{index}"}
    values["modelName"] = board.facts["model"]["product_name"]
    return ",".join(f'{name}="{value}"' for name, value in values.items())


def _xids(board: Board, gpu: Facts) -> list[int]:
    found = (_XID.search(str(line)) for line in board.facts["kernel_log"])
    return [int(each["code"]) for each in found if each and _place(each["bus"]) == _place(gpu["pci_bus_id"])]


def _place(pci_bus_id: str) -> list[str]:
    """Return bus and device of an address such as 00000000:61:00.0 or 0000:61:00."""
    return pci_bus_id.lower().partition(".")[0].split(":")[-2:]


def _tls(file: Path) -> ssl.SSLContext:
    """Return the context of a web configuration of Prometheus' exporters (prometheus/exporter-toolkit)."""
    rows = dict(re.findall(r"(?m)^\s+(\w+): (\S+)$", file.read_text()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(rows["cert_file"], rows["key_file"])
    context.load_verify_locations(rows["client_ca_file"])
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _handler(counters: Path, root: Path) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            is_metrics = self.path == "/metrics"
            body = metrics(counters.read_text(), Board(root)).encode() if is_metrics else b"not found\n"
            self.send_response(200 if is_metrics else 404)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Write nothing."""

    return Handler
