"""The words around the numbers of one text, evaluated on demand and once.

context = TextContext(topics, "his BSN is 111222333")
context.may_have_topic(topics.mask("@phone"))      # False: no word of the text belongs to the topic
context(11, 20).near                        # topics around the number
"""

from __future__ import annotations

from .table_lines import FEWEST_LINES, line_at, lines_like
from .topics import FARTHEST_AFTER, FARTHEST_BEFORE, HAS_LETTER, Topics, WordsAfter, WordsBefore


class NumberContext:
    """Topics around a place, as bits; those after it are evaluated on demand.

    Args:
        before: topics before the place.
    """

    __slots__ = ("_end", "_from", "_of_before", "before", "closest", "touching")

    def __init__(self, surroundings: TextContext, before: WordsBefore, end: int) -> None:
        self._of_before = before
        self._from = surroundings
        self._end = end
        self.before = before.phrase
        """In the same phrase, before it, with no long number between."""
        self.touching = before.touching
        """Right before it, with no other number between."""
        self.closest = before.closest
        """The last one before it, at any distance; 0 if absent."""

    @property
    def near(self) -> int:
        """Anywhere around it."""
        return self._of_before.near | self._behind.near

    @property
    def after(self) -> int:
        """The first one after it; 0 if absent."""
        return self._behind.first

    @property
    def following(self) -> int:
        """Directly after it."""
        return self._behind.following

    def has_topic_near(self, mask: int, others: int) -> bool:
        """Return whether one of `mask` is near, and none of `others` comes between."""
        return bool(self.closest & mask or (not self.closest & others and self.near & mask))

    @property
    def _behind(self) -> WordsAfter:
        return self._from.behind(self._end, self._of_before.scale)


class TextContext:
    """The surroundings in one text."""

    __slots__ = ("_before", "_behind", "_in_table", "_said", "_silent", "_text", "_topics")

    def __init__(self, topics: Topics, text: str) -> None:
        self._topics = topics
        self._text = text
        self._before: dict[int, WordsBefore] = {}
        self._behind: dict[tuple[int, int], WordsAfter] = {}
        self._said: int | None = None
        self._in_table: dict[int, bool] = {}
        self._silent = (0, 0)
        """The last range in which no word was found."""

    def __call__(self, start: int, end: int) -> NumberContext:
        """Return the topics around `text[start:end]`."""
        before = self._before.get(start)
        if before is None:
            before = self._before[start] = self._topics.before(self._text, start)
        return NumberContext(self, before, end)

    def behind(self, end: int, scale: int) -> WordsAfter:
        """Return the topics after `text[end]`.

        Args:
            scale: bytes of a letter there, 1 or 2.
        """
        behind = self._behind.get((end, scale))
        if behind is None:
            behind = self._behind[end, scale] = self._topics.behind(self._text, end, scale)
        return behind

    def are_in_table(self, place: int) -> bool:
        """Return whether the numbers in the line of this place are a row of a table."""
        line = line_at(self._text, place)
        if line is None:
            return False
        if line[0] not in self._in_table:
            lines = lines_like(self._text, place)
            self._in_table.update(dict.fromkeys(lines, len(lines) >= FEWEST_LINES))
        return self._in_table[line[0]]

    def has_no_word_near(self, start: int, end: int) -> bool:
        """Return whether no word is near enough to `text[start:end]` to be its context; fast from number to number."""
        if start > 1 and self._text[start - 2 : start - 1].isalpha():
            return False  # "number 17", as in nearly all prose
        first, last = max(0, start - FARTHEST_BEFORE), end + FARTHEST_AFTER
        silent_from, silent_to = self._silent
        if not silent_from <= first <= silent_to:
            silent_from = silent_to = first
        said = HAS_LETTER.search(self._text, silent_to, last)
        self._silent = silent_from, said.start() if said else max(silent_to, last)
        return said is None

    def may_have_topic(self, mask: int) -> bool:
        """Return False if the text contains no word of these topics."""
        if self._said is None:
            self._said = self._topics.possible_topics(self._text)
        return bool(self._said & mask)
