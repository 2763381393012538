"""Splits transcripts in text, SubRip and WebVTT into spoken text and the rest. Pure.

Only numbers and times of captions in their positions are excluded; all other lines count as spoken, so that text in the
format of a
number or a time is checked too. Written without changes, a transcript is identical to the original, byte for byte.

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
    """One transcript in the form of an answer; its `lines` are alternately texts and line ends.

    Args:
        text: as received from the upstream.
    """

    def __init__(self, text: str) -> None:
        lines = _LINE_END.split(text)
        super().__init__(lines=lines)
        self.spoken = [place for place in range(0, len(lines), 2) if lines[place] and not _is_form(lines, place)]
        """Indices of spoken text in `lines`."""

    def written(self) -> str:
        """Return the text. Lines that became empty are omitted, because an empty line would end its caption."""
        lines: list[str] = self["lines"]
        emptied = {place for place in self.spoken if not lines[place]}
        return "".join(line for place, line in enumerate(lines) if place not in emptied and place - 1 not in emptied)


def _is_form(lines: list[str], place: int) -> bool:
    line, behind = lines[place], lines[place + 2 : place + 3]
    if place == 0 and line.strip("\ufeff \t") == "WEBVTT":
        return True
    return bool(_TIMES.match(line) or (_NUMBER.match(line) and behind and _TIMES.match(behind[0])))
