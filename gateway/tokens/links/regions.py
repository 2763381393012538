"""Spans of a whole text that may be URLs."""

from __future__ import annotations

from .definitions import definition_regions
from .openers import has_link_hint
from .reading import Reading


def link_regions(text: str) -> list[tuple[int, int]]:
    """Return the spans of `text` that may be URLs, in order and without overlaps."""
    if not has_link_hint(text):
        return []
    reading = Reading()
    reading.links.feed(text)
    reading.tags.feed(text)
    reading.links.close()
    reading.tags.close()
    regions = reading.links.regions + reading.tags.regions + definition_regions(text)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(regions):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
