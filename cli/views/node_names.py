"""Short notation of node names: `dgx-[01-32], gw-1`, as ClusterShell, SLURM and pdsh write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<digits>[0-9]+)")


def fold(names: Iterable[str]) -> str:
    """Return names in short notation: numbers of the same stem and width become ranges, in the order of the names.

    >>> fold(["dgx-01", "dgx-02", "dgx-04", "gw"])
    'dgx-[01-02,04], gw'
    """
    numbers: dict[tuple[str, int], list[int]] = {}
    order: list[tuple[str, int]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        digits = match["digits"] if match else ""
        is_padded = len(digits) > 1 and digits.startswith("0")
        stem = match["stem"] if match else name
        key = (stem, len(digits)) if is_padded or not match else _width_of(numbers, stem, len(digits))
        if key not in numbers:
            numbers[key] = []
            order.append(key)
        if match:
            numbers[key].append(int(digits))
    return ", ".join(_folded(stem, width, numbers[stem, width]) for stem, width in order)


def _width_of(numbers: dict[tuple[str, int], list[int]], stem: str, width: int) -> tuple[str, int]:
    """Return the key of numbers without leading zeros: the width of a padded series, if `stem` has one; else 1."""
    return (stem, width) if (stem, width) in numbers else (stem, 1)


def _folded(stem: str, width: int, found: list[int]) -> str:
    if not found:
        return stem
    ranges: list[list[int]] = []
    for number in sorted(found):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in ranges]
    return f"{stem}{texts[0]}" if texts == [f"{found[0]:0{width}d}"] else f"{stem}[{','.join(texts)}]"
