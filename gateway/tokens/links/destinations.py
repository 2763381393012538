"""Destinations of markdown: where one begins and ends (CommonMark 0.31.2, 6.3)."""

from __future__ import annotations

import re

_LEAD = re.compile(r"[\s>]*")  # with marks of quotations, which renderers remove
DESTINATION_END = re.compile("[\x00- \x7f]")
LINE_END = re.compile(r"\n")
"""Of a destination in angle brackets, which may contain escaped ones."""


def destination_start(text: str, position: int) -> int:
    """Return the start of the destination after `](` or `]:`."""
    lead = _LEAD.match(text, position)
    assert lead is not None  # it also matches nothing
    return lead.end()


def destination_end(text: str, start: int) -> int | None:
    """Return the end of the destination that begins at `start`; None if it may go on after `text`."""
    end = LINE_END if text.startswith("<", start) else DESTINATION_END
    match = end.search(text, start)
    return match.end() if match is not None else None
