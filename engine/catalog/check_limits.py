"""Limits of checks that are the same on every platform.

    limit("disk.free-space.least")       # 5, in percent

The data are in check_limits.yaml; `docs/checks.md` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from .figure import Figure, read_catalog


class CheckLimit(Figure):
    """A figure with its name and its effect."""

    id: str
    """Check or topic, then the name of the limit."""
    means: str
    """The finding, such as "FAIL above it"."""
    value: int


@cache
def load_check_limits() -> Mapping[str, CheckLimit]:
    """Return all limits by id, in the order of the file."""
    rows = [CheckLimit.model_validate(row) for row in read_catalog("check_limits")["limits"]]
    return MappingProxyType({row.id: row for row in rows})


def limit(name: str) -> int:
    """Return the value of a limit in its unit."""
    return load_check_limits()[name].value
