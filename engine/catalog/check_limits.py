"""Limits of checks that are the same on every platform.

    limit("disk.free-space.least")       # 5, in percent

The data are in check_limits.yaml; `docs/checks.md` shows them. `verify.limits` of site.yaml may change them; a looser
value needs a waiver.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from .figure import Figure, read_catalog


class CheckLimit(Figure):
    """A figure with its name and its effect."""

    id: str
    """Check or topic, then the name of the limit."""
    means: str
    """The finding, such as "FAIL above it"."""
    value: int
    stricter: Literal["lower", "higher"] | None = None
    """Direction in which a site may change the value without a waiver; None: no site may change it."""

    def is_loosened_by(self, value: int) -> bool:
        """Return whether a site's value accepts more than the catalogue's."""
        return value > self.value if self.stricter == "lower" else value < self.value


@cache
def load_check_limits() -> Mapping[str, CheckLimit]:
    """Return all limits by id, in the order of the file."""
    rows = [CheckLimit.model_validate(row) for row in read_catalog("check_limits")["limits"]]
    return MappingProxyType({row.id: row for row in rows})


def limit(name: str) -> int:
    """Return the value of a limit in its unit."""
    return load_check_limits()[name].value
