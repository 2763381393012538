"""What a model said in a stream so far, for the person to whom it is handed over.

heard = ModelText()
heard.add(said)
heard.texts()      # ["It costs 4 %."]
"""

from __future__ import annotations

from ..surfaces.answers.model_strings import Channel, ModelString

_MOST_CHARACTERS = 100_000  # as long as the longest transcript; what comes after is not kept


class ModelText:
    """The strings of one stream."""

    def __init__(self) -> None:
        self._pieces: dict[Channel, list[str]] = {}
        self._left = _MOST_CHARACTERS

    def add(self, said: ModelString) -> None:
        """Take in what an event adds. What an API says a second time, as a whole, is left out."""
        text = said.text
        if self._left <= 0 or (said.is_whole and text in self.texts()):
            return
        self._left -= len(text)
        self._pieces.setdefault(said.channel, []).append(text)

    def texts(self) -> list[str]:
        """Each string as far as it came, in the order in which they began."""
        return ["".join(pieces) for pieces in self._pieces.values()]
