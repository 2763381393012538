"""One step of an explanation, and how its figures are written.

Step("weights", "parameters x bytes", ("8.03 x 10^9 parameters",), both_units(16.06e9))
"""

from __future__ import annotations

from dataclasses import dataclass

from sovctl.engine.sizing.capacity import Banded


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    title: str
    formula: str
    inputs: tuple[str, ...]
    result: str
    instead: str = ""
    """"The common rule says X, we compute Y because ..."; empty where they agree."""


def both_units(count: float) -> str:
    """Bytes as "141.2 GB = 131.5 GiB"; small ones in MB and MiB, or kB and KiB."""
    for power, letter, binary in ((3, "G", "Gi"), (2, "M", "Mi")):
        if abs(count) >= 0.5 * 1000**power:
            return f"{count / 1000**power:,.1f} {letter}B = {count / 1024**power:,.1f} {binary}B"
    return f"{count / 1000:,.1f} kB = {count / 1024:,.1f} KiB"


def seconds(value: float) -> str:
    """A time as a person reads it."""
    return f"{value * 1e3:,.0f} ms" if value < 10 else f"{value:,.1f} s"


def band(value: Banded) -> str:
    """A time with its band."""
    return f"{seconds(value.middle)} (band {seconds(value.low)} to {seconds(value.high)})"
