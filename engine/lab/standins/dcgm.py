"""Simulated DCGM: the host engine, and of dcgmi the version, the list of GPUs, and the diagnostic."""

from __future__ import annotations

from pathlib import Path

from . import daemon, dcgm_diagnostic
from .board import HOST_ENGINE_FILE, SIMULATED, Board

_NO_CONNECTION = (
    "Error: unable to establish a connection to the specified host: localhost\n"
    "Error: Unable to connect to host engine. Host engine connection invalid/disconnected."
)
_WIDTH = 70


def host_engine(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run nv-hostengine; see fabricmanager.main."""
    if "--version" in arguments:
        _print(f"Version : {version}\n{SIMULATED}")
        return 0
    daemon.log(f"nv-hostengine {version} started, {SIMULATED}")
    return daemon.run(root / HOST_ENGINE_FILE, version)


def dcgmi(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run dcgmi."""
    board = Board(root)
    if arguments in (["--version"], ["-v"]):
        _print(f"dcgmi  version: {version}\n{SIMULATED}")
        return 0
    if not board.has_host_engine:
        _print(_NO_CONNECTION)
        return 1
    if arguments == ["discovery", "-l"]:
        _print(discovery(board))
        return 0
    if arguments[:1] == ["diag"]:
        if board.facts["diagnostics"]["hangs"]:
            dcgm_diagnostic.hang()
        code, text = dcgm_diagnostic.run(board, arguments[1:], version)
        _print(text)
        return code
    _print(f"expected --version, discovery -l or diag, got {' '.join(arguments)!r}; other commands are not {SIMULATED}")
    return 1


def discovery(board: Board) -> str:
    """Return the output of `dcgmi discovery -l`."""
    gpus = board.gpus if board.loaded_version else []
    gpus = gpus[: len(gpus) - board.facts.get("dcgm_missing", 0)]
    rule = f"+--------+{'-' * _WIDTH}+"
    lines = [f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''} found ({SIMULATED}).", rule]
    lines += [f"| GPU ID | {'Device Information':<{_WIDTH - 1}}|", rule]
    for gpu in gpus:
        for label, text in (
            (str(gpu["index"]), f"Name: {board.facts['model']['product_name']}"),
            ("", f"PCI Bus ID: {gpu['pci_bus_id']}"),
            ("", f"Device UUID: {gpu['uuid']}"),
        ):
            lines.append(f"| {label:<7}| {text:<{_WIDTH - 1}}|")
        lines.append(rule)
    return "\n".join(lines)


def _print(text: str) -> None:
    print(text)  # noqa: T201 - this is a program
