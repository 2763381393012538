"""Collects what a model wrote in a stream, for the transcript of a hand-off.

text = ModelText()
text.add(string)
text.texts()      # ["It costs 4 %."]
"""

from __future__ import annotations

from ..surfaces.answers.fields import Channel
from ..surfaces.answers.model_strings import ModelString

_MAX_CHARACTERS = 100_000  # as in a transcript; later text is dropped


class ModelText:
    """The strings of one stream."""

    def __init__(self) -> None:
        self._pieces: dict[Channel, list[str]] = {}
        self._left = _MAX_CHARACTERS

    def add(self, said: ModelString) -> None:
        """Add the text of an event. A complete string that repeats earlier events is skipped."""
        text = said.text
        if self._left <= 0 or (said.is_whole and text in self.texts()):
            return
        self._left -= len(text)
        self._pieces.setdefault(said.channel, []).append(text)

    def texts(self) -> list[str]:
        """Return the strings as received, in the order of their first event."""
        return ["".join(pieces) for pieces in self._pieces.values()]
