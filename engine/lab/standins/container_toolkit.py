"""Simulated nvidia-ctk: its version, and the GPUs of the container device interface."""

from __future__ import annotations

from pathlib import Path

from .board import SIMULATED, Board

_VERSION_OPTIONS = (["--version"], ["-v"])


def answer(board: Board, arguments: list[str], version: str) -> tuple[int, list[str]]:
    """Return the exit code and the lines of the output."""
    words = [word for word in arguments if word not in ("--quiet", "-q")]
    if words in _VERSION_OPTIONS:
        return 0, [f"NVIDIA Container Toolkit CLI version {version}", f"commit: {SIMULATED}"]
    if words == ["cdi", "list"]:
        gpus = board.gpus[: len(board.gpus) - board.facts["cdi_missing"]]
        names = [*(str(gpu["index"]) for gpu in gpus), *(gpu["uuid"] for gpu in gpus), "all"]
        return 0, [f"nvidia.com/gpu={name}" for name in names]
    return 1, [f"expected --version or cdi list, got {' '.join(arguments)!r}; {SIMULATED}: only some commands"]


def main(arguments: list[str], version: str, root: Path = Path("/")) -> int:
    """Run the program. Return the exit code."""
    code, lines = answer(Board(root), arguments, version)
    print("\n".join(lines))  # noqa: T201 - this is a program
    return code
