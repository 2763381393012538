"""Parsers of `nvidia-smi nvlink -s` (links with their speed) and `nvidia-smi nvlink -e` (error counters).

Empty output is an error, and "all links are inactive" is a message without links, because neither means healthy.
Counter names differ between NVLink 4 and 5, so they are kept as printed.

Sources: captures of A100 (leptonai/gpud, Azure/azurehpc-health-checks), H100 (stas00/ml-engineering) and field names
of B300 with driver 595 (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..numbers import integer
from ..unreadable import Unreadable

_GPU = re.compile(r"^GPU (\d+): (.+?)(?: \(UUID: ([^)]+)\))?$")
_SPEED = re.compile(r"^Link (\d+): ([\d.]+) GB/s$")
_INACTIVE = re.compile(r"^Link (\d+): <?inactive>?$", re.IGNORECASE)
_COUNTER = re.compile(r"^Link (\d+): ([^:]+): (\S+)$")
_ALL_INACTIVE = "all links are inactive"


@dataclass(frozen=True, slots=True)
class NvLink:
    """One link. `speed_gb_s` is per direction; None if the link is inactive."""

    index: int
    speed_gb_s: float | None


@dataclass(frozen=True, slots=True)
class GpuLinks:
    """Links of a GPU in index order. `message` is a message of the driver instead of links."""

    index: int
    product: str
    uuid: str | None
    links: tuple[NvLink, ...]
    message: str | None

    @property
    def active(self) -> int:
        """Number of active links."""
        return sum(link.speed_gb_s is not None for link in self.links)


@dataclass(frozen=True, slots=True)
class LinkCounter:
    """One counter of one link, as printed. `value` is None if it is not an integer."""

    gpu: int
    link: int
    name: str
    value: int | None


@lru_cache(maxsize=4)
def parse_nvlink_status(text: str) -> tuple[GpuLinks, ...]:
    """Parse the links of all GPUs, in the order printed.

    Raises:
        Unreadable: the output is empty, or a line is unknown.
    """
    where = "nvidia-smi nvlink -s"
    gpus = []
    for header, lines in _blocks(text, where):
        links, message = [], None
        for line in lines:
            if match := _SPEED.match(line):
                links.append(NvLink(integer(match[1]), float(match[2])))
            elif match := _INACTIVE.match(line):
                links.append(NvLink(integer(match[1]), None))
            elif line.startswith("NVML:") or _ALL_INACTIVE in line.lower():
                message = line
            else:
                raise Unreadable("`Link N: ... GB/s` or `<inactive>`", line, where=where)
        gpus.append(GpuLinks(integer(header[1]), header[2], header[3], tuple(links), message))
    return tuple(gpus)


@lru_cache(maxsize=4)
def parse_nvlink_errors(text: str) -> tuple[LinkCounter, ...]:
    """Parse the counters of all links, in the order printed.

    Raises:
        Unreadable: the output is empty, or a line is unknown.
    """
    where = "nvidia-smi nvlink -e"
    counters = []
    for header, lines in _blocks(text, where):
        gpu = integer(header[1])
        for line in lines:
            match = _COUNTER.match(line)
            if match is None:
                raise Unreadable("`Link N: name: value`", line, where=where)
            link, name, value = match.groups()
            counters.append(
                LinkCounter(gpu, integer(link), name.strip(), integer(value) if value.isdecimal() else None)
            )
    return tuple(counters)


def _blocks(text: str, where: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield the header match and the body lines of each GPU."""
    current: tuple[re.Match[str], list[str]] | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if not line:
            continue
        if match := _GPU.match(line):
            if current is not None:
                yield current
            current = (match, [])
        elif current is None:
            raise Unreadable("`GPU N: ...`", line, where=where)
        else:
            current[1].append(line)
    if current is None:
        raise Unreadable("`GPU N: ...`", text, where=where)
    yield current
