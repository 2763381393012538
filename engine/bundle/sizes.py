"""Sizes with a unit: `64MiB`, `64GB`."""

from __future__ import annotations

import re

from sovctl.support.errors import InputError

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def parse_size(text: str, *, where: str) -> int:
    """Return the bytes of a size.

    Raises:
        InputError: not a positive integer with a unit.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6}) ?([KMGT]i?B)", text.strip())
    if match is None:
        raise InputError(f"expected a size such as 64GB or 64MiB, got {text[:20]!r}", where=where)
    return int(match[1]) * _UNITS[match[2]]
