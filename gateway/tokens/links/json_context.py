"""The same decision in the text of a JSON document, such as tool arguments."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...domain.entities import EntityType, Mark
from .context import LinkContext


class JsonLinkContext(LinkContext):
    """Link context of a JSON document's text: escapes are undone, and each string is separate."""

    _PIECE = re.compile(r'\\u[0-9a-fA-F]{4}|\\[^u]|"|[^"\\]+', re.DOTALL)
    _ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}  # noqa: RUF012 - a constant table

    def __init__(self, hosts: Collection[str] = ()) -> None:
        super().__init__(hosts)
        self._partial = ""

    def feed(self, text: str) -> None:
        """Add raw JSON text."""
        text = self._partial + text
        position = 0
        while position < len(text):
            match = self._PIECE.match(text, position)
            if match is None:  # an incomplete escape, or an invalid one
                break
            piece = match.group()
            if piece == '"':
                self._reset()
            elif piece[0] == "\\":
                super().feed(chr(int(piece[2:], 16)) if piece[1] == "u" else self._ESCAPES.get(piece[1], piece[1]))
            else:
                super().feed(piece)
            position = match.end()
        self._partial = text[position:]
        if len(self._partial) >= 6:  # longer than any escape: not JSON, so read as it is
            super().feed(self._partial)
            self._partial = ""

    def restored(self, label: EntityType | Mark, value: str) -> None:
        """See `LinkContext.restored`; an incomplete escape before a token is discarded."""
        self._partial = ""
        super().restored(label, value)
