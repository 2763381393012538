"""Parsers of processors and memory: lists of CPUs in sysfs, and error counters of EDAC.

Sources: Linux Documentation/admin-guide/cputopology.rst, Documentation/driver-api/edac.rst, Documentation/ABI/stable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_CONTROLLER = re.compile(r"^(?P<name>mc\d+) ce=(?P<corrected>\d+) ue=(?P<uncorrected>\d+)$")


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """Errors of one memory controller since the start of the kernel."""

    controller: str
    corrected: int
    uncorrected: int


def parse_cpu_list(text: str) -> frozenset[int]:
    """Return the numbers of a list such as `0-3,8`.

    Raises:
        Unreadable: the text is empty or has another form.
    """
    numbers: set[int] = set()
    for part in text.strip().split(","):
        match = _RANGE.fullmatch(part)
        if match is None or integer(match[2] or match[1]) < integer(match[1]):
            raise Unreadable("a list of CPUs such as 0-3,8", text, where="/sys/devices/system/cpu")
        numbers |= set(range(integer(match[1]), integer(match[2] or match[1]) + 1))
    return frozenset(numbers)


def parse_memory_errors(text: str) -> tuple[MemoryErrors, ...]:
    """Parse lines `mcN ce=count ue=count`.

    Raises:
        Unreadable: no line, a line of another form, or a controller that occurs twice.
    """
    found: list[MemoryErrors] = []
    for line in text.splitlines():
        match = _CONTROLLER.match(line)
        if match is None or any(each.controller == match["name"] for each in found):
            raise Unreadable("`mcN ce=count ue=count`, each controller once", line, where="EDAC")
        found.append(MemoryErrors(match["name"], integer(match["corrected"]), integer(match["uncorrected"])))
    if not found:
        raise Unreadable("a memory controller", text, where="EDAC")
    return tuple(found)
