"""Transcripts that are no JSON (text, SubRip, WebVTT), cut into what was said and what was not. Pure.

Only numbers and times of captions are no words, and only where they stand as such; anything else is read, so that
nothing passes unread by looking like a form. Written unchanged, it is what it was, byte for byte.

    captions = Captions("1\\n00:00:00,000 --> 00:00:01,000\\nGood morning.\\n")
    captions["lines"][4]      # "Good morning.", one of captions.spoken
    captions.written()
"""

from __future__ import annotations

import re
from typing import Any

_LINE_END = re.compile(r"(\r\n|\r|\n)")
_TIMES = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->\s+(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\s*\Z")
_NUMBER = re.compile(r"\d{1,9}\Z")


class Captions(dict[str, Any]):
    """One transcript; an answer like any other, whose `lines` are texts and line ends in turn.

    Args:
        text: as the upstream sent it.
    """

    def __init__(self, text: str) -> None:
        lines = _LINE_END.split(text)
        super().__init__(lines=lines)
        self.spoken = [place for place in range(0, len(lines), 2) if lines[place] and not _is_form(lines, place)]
        """Places of what was said in `lines`."""

    def written(self) -> str:
        """The text; a line of which nothing is left is left out, as an empty one would end its caption."""
        lines: list[str] = self["lines"]
        emptied = {place for place in self.spoken if not lines[place]}
        return "".join(line for place, line in enumerate(lines) if place not in emptied and place - 1 not in emptied)


def _is_form(lines: list[str], place: int) -> bool:
    line, behind = lines[place], lines[place + 2 : place + 3]
    if place == 0 and line.strip("\ufeff \t") == "WEBVTT":
        return True
    return bool(_TIMES.match(line) or (_NUMBER.match(line) and behind and _TIMES.match(behind[0])))
