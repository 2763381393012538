"""Parsers of `nvidia-smi topo -m` and `nvidia-smi topo -p2p`: connections between the devices of a node.

The matrix header may be underlined with ANSI codes, columns are split by tabs or by runs of spaces, NICs are printed
as mlx5_N or as NICn with a legend below, and rows of NICs are missing on some versions.

Sources: captures in NVIDIA/NVSentinel (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..unreadable import Unreadable

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_DEVICE = re.compile(r"^(GPU\d+|NIC\d+|mlx5_\w+)$")
_LEGEND = re.compile(r"^(NIC\d+): (\S+)$")
_AFFINITY = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cells by (row, column). `gpus` and `nics` are in the order printed; NICs have their device names."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    cells: Mapping[tuple[str, str], str]
    numa_nodes: Mapping[str, str]
    """NUMA nodes by GPU; empty if the tool does not print them."""

    def gpu_pairs(self) -> dict[tuple[str, str], str | None]:
        """Return the cells of all ordered pairs of different GPUs; None for a missing cell."""
        return {(a, b): self.cells.get((a, b)) for a in self.gpus for b in self.gpus if a != b}


def parse_topology(text: str) -> Matrix:
    """Parse the matrix of `nvidia-smi topo -m`: NV18, PIX, PXB, PHB, NODE, SYS.

    Raises:
        Unreadable: the header is missing, or a row has another number of cells.
    """
    return _matrix(text, "nvidia-smi topo -m")


def parse_p2p(text: str) -> Matrix:
    """Parse the matrix of `nvidia-smi topo -p2p r|w|n`: OK, NS, CNS, GNS, TNS, DR, U.

    Raises:
        Unreadable: the header is missing, or a row has another number of cells.
    """
    return _matrix(text, "nvidia-smi topo -p2p")


def _matrix(text: str, where: str) -> Matrix:
    lines = [_ANSI.sub("", line).rstrip() for line in text.splitlines()]
    start = next((number for number, line in enumerate(lines) if line.split()[:1] == ["GPU0"]), None)
    if start is None:
        raise Unreadable("a header with GPU0", text, where=where)
    columns = [word for word in lines[start].split() if _DEVICE.match(word)]
    affinities = [name for name in _AFFINITY if name in lines[start]]
    rows: dict[str, list[str]] = {}
    affinity: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for line in lines[start + 1 :]:
        if match := _LEGEND.match(line.strip()):
            names[match[1]] = match[2]
        words = line.split()
        if not words or not _DEVICE.match(words[0]):
            continue
        if len(words) < 1 + len(columns):
            raise Unreadable(
                f"{len(columns)} cells in row {words[0]}", f"{len(words) - 1}", where=where, is_description=True
            )
        rows[words[0]] = words[1 : 1 + len(columns)]
        affinity[words[0]] = words[1 + len(columns) :]
    gpus = tuple(name for name in columns if name.startswith("GPU"))
    if missing := [name for name in gpus if name not in rows]:
        raise Unreadable(f"a row for {missing[0]}", "none", where=where, is_description=True)
    return Matrix(
        gpus=gpus,
        nics=tuple(names.get(name, name) for name in columns if not name.startswith("GPU")),
        cells={
            (names.get(row, row), names.get(column, column)): cell
            for row, cells in rows.items()
            for column, cell in zip(columns, cells, strict=True)
        },
        numa_nodes=_numa_nodes(gpus, affinity, affinities),
    )


def _numa_nodes(gpus: tuple[str, ...], affinity: Mapping[str, list[str]], headings: list[str]) -> dict[str, str]:
    if "NUMA Affinity" not in headings:
        return {}
    column = headings.index("NUMA Affinity")
    return {gpu: affinity[gpu][column] for gpu in gpus if len(affinity[gpu]) > column}
