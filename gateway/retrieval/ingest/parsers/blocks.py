"""Collects blocks of text with their page, within limits."""

from __future__ import annotations

import re

from .extracted import Block, Limits, Reason, Refused

# PostgreSQL rejects NUL in text; other controls, lone surrogates and bidirectional controls are not readable text.
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"[ \u00a0\r\f\v]+")
_AROUND_TABS = re.compile(r" ?\t ?")


def clean(text: str) -> str:
    """Return a text without unreadable characters without runs of spaces and without spaces around tabs."""
    text = text.replace("\r\n", "\n")
    lines = _AROUND_TABS.sub("\t", _BLANKS.sub(" ", _UNREADABLE.sub("", text))).split("\n")
    return "\n".join(line.strip(" ") for line in lines).strip("\n")


class Blocks:
    """List of blocks of one document.

    Raises:
        Refused: by `add`, if a page or the number of pages is above its limit.
    """

    def __init__(self, limits: Limits) -> None:
        self.found: list[Block] = []
        self._limits = limits
        self._page: int | None = None
        self._characters = 0

    def turn(self, page: int) -> None:
        """Begin a page, slide or sheet, counted from 1."""
        if page > self._limits.pages:
            raise Refused(Reason.PAGES, f"expected at most {self._limits.pages} pages")
        self._page, self._characters = page, 0

    def add(self, text: str, *, level: int = 0) -> None:
        """Add a block; a block without readable text is omitted."""
        self._characters += len(text)
        if self._page is not None and self._characters > self._limits.page_characters:
            raise Refused(Reason.PAGE, f"page {self._page} has more than {self._limits.page_characters} characters")
        if cleaned := clean(text).strip():
            self.found.append(Block(cleaned, self._page, level))
