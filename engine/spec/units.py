"""Converts a value with a unit, such as `80GiB`, into the unit of its field, for hints of error messages. Pure.

in_unit(("pools", 0, "kv_cache_memory_bytes"), "80GiB")     # "write 85899345920, in bytes"
in_unit(("pools", 0, "gpu_memory_utilization"), 92)         # "write 0.92: a share of 1, not a percent"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# By suffix of the field name: the unit in words, and the factor of each accepted unit.
_UNITS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "_bytes": (
        "in bytes",
        {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
        | {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40},
    ),
    "_gb_s": ("in GB/s", {"mb/s": 1e-3, "gb/s": 1, "gib/s": (1 << 30) / 1e9, "tb/s": 1e3}),
    "_ms": ("in milliseconds", {"ms": 1, "s": 1e3, "sec": 1e3, "min": 6e4}),
    "_s": ("in seconds", {"ms": 1e-3, "s": 1, "sec": 1, "min": 60, "h": 3600}),
    "_kw": ("in kW", {"w": 1e-3, "kw": 1, "mw": 1e3}),
    "_percent": ("in percent", {"%": 1}),
    "_percent_per_year": ("in percent", {"%": 1}),
}
_SHARE = "gpu_memory_utilization"


def in_unit(loc: Sequence[str | int], got: Any) -> str:
    """Return the hint with the converted value; empty if `got` has no known unit.

    Args:
        loc: keys and item numbers, as pydantic reports them.
    """
    names = [step for step in loc if isinstance(step, str)]
    if names[-1:] == [_SHARE] and isinstance(got, int | float) and 1 < got <= 100:
        return f"write {got / 100:g}: a share of 1, not a percent"
    found = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?)\s*([A-Za-z/%]+)", got.strip()) if isinstance(got, str) else None
    if found is None:
        return ""
    number, unit = float(found[1]), found[2].lower()
    if unit == "k" and not any(name.endswith(tuple(_UNITS)) for name in names):
        return f"write {number * 1000:.0f}, or {number * 1024:.0f} if k means 1,024"
    for name in reversed(names):  # for a key of a mapping, the name of the mapping has the unit
        for ending, (words, units) in _UNITS.items():
            if name.endswith(ending) and unit in units:
                return f"write {_plain(number * units[unit])}, {words}"
    return ""


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"
