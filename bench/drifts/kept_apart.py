"""Kinds that were not used to develop the detection: changes that an administrator makes in a hurry."""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    yield from ()
