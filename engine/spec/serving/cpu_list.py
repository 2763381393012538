"""Lists of processor cores, as systemd and taskset write them.

cpus_of("0-2,8")      # frozenset({0, 1, 2, 8})
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from ..types import words

_MAX_CPUS = 8192  # CONFIG_NR_CPUS of Debian's kernel for x86_64 (config-6.1)


def cpus_of(text: str) -> frozenset[int]:
    """Return the numbers of the cores.

    Raises:
        ValueError: a range ends before it begins, or a number is too large.
    """
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        start, end = int(first), int(last or first)
        if end < start or end >= _MAX_CPUS:
            raise ValueError(f"expected rising ranges of cores below {_MAX_CPUS}, got {part}")
        cpus.update(range(start, end + 1))
    return frozenset(cpus)


def _checked(text: str) -> str:
    cpus_of(text)
    return text


CpuList = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,63}$"),
    AfterValidator(_checked),
    words("cores such as 0-7,16", kind="cores"),
]
"""Processor cores: numbers and ranges."""
