"""One derivation step, and the format of its figures.

Step("weights", "parameters x bytes", ("8.03 x 10^9 parameters",), both_units(16.06e9))
"""

from __future__ import annotations

from dataclasses import dataclass

from ..performance.capacity import Interval


@dataclass(frozen=True, slots=True)
class Step:
    """One derivation step."""

    title: str
    formula: str
    inputs: tuple[str, ...]
    result: str
    instead: str = ""
    """"The common rule gives X, sovctl computes Y because ..."; empty if both agree."""


def both_units(count: float) -> str:
    """Return bytes as "141.2 GB = 131.5 GiB"; smaller values in MB and MiB, or kB and KiB."""
    for power, letter, binary in ((3, "G", "Gi"), (2, "M", "Mi")):
        if abs(count) >= 1000**power:
            return f"{_digits(count / 1000**power)} {letter}B = {_digits(count / 1024**power)} {binary}B"
    return f"{_digits(count / 1000)} kB = {_digits(count / 1024)} KiB"


def _digits(number: float) -> str:
    return f"{number:,.1f}" if abs(number) >= 10 or not number else f"{number:,.2f}"


def seconds(value: float) -> str:
    """Return a time with three digits: `12.3 s`, `456 ms`, `7.89 ms`."""
    number, unit = (value, "s") if value >= 1 else (value * 1e3, "ms")
    places = 0 if number >= 100 or not number else 1 if number >= 10 else 2
    return f"{number:,.{places}f} {unit}"


def band(value: Interval) -> str:
    """Return a time with its band."""
    return f"{seconds(value.middle)} (band {seconds(value.low)} to {seconds(value.high)})"
