"""Reads several texts as one, because a model does: parts of a message, items of a list.

    joined = JoinedTexts.of_parts(["write to anna@exa", "mple.com"])
    joined.text                                  # "write to anna@example.com"
    joined.parts_of(finder.find(joined.text))    # [("write to anna@exa", [Finding(9, 17, ...)]), ("mple.com", [...])]

A finding over several texts becomes one finding in each of them. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ..body.json_texts import JsonText
from ..detect.findings.finding import Finding
from ..detect.text.view import APART

_EDGE = 160  # characters at either end of a text that may be a part of an identifier in two texts
_LONGEST_ITEM = 24  # characters of an item that may be a group of a number


class JoinedTexts:
    """Texts that are read as one.

    Args:
        pieces: text, the index of the whole text it is from (None between texts), and its offset there.
    """

    def __init__(self, texts: Sequence[str], pieces: Sequence[tuple[str, int | None, int]]) -> None:
        self._texts = texts
        self._pieces = pieces
        self.text = "".join(piece for piece, _, _ in pieces)
        self._starts: list[int] = []
        start = 0
        for piece, _, _ in pieces:
            self._starts.append(start)
            start += len(piece)

    @classmethod
    def of_parts(cls, texts: Sequence[str], separator: str = "") -> JoinedTexts:
        """Return the parts of a message; of long ones only their ends, because the rest was read."""
        pieces: list[tuple[str, int | None, int]] = []
        for index, text in enumerate(texts):
            if index and separator:
                pieces.append((separator, None, 0))
            if len(text) <= 2 * _EDGE:
                pieces.append((text, index, 0))
            else:
                pieces += ((text[:_EDGE], index, 0), (APART, None, 0), (text[-_EDGE:], index, len(text) - _EDGE))
        return cls(texts, pieces)

    @classmethod
    def of_row(cls, row: Sequence[JsonText]) -> JoinedTexts | None:
        """Return the items of a list, separated by spaces; None if they can't be the groups of one number."""
        texts = [leaf.text for leaf in row]
        if len(texts) < 2 or any(len(text) > _LONGEST_ITEM for text in texts):
            return None
        if not any(character.isdigit() for text in texts for character in text):
            return None
        pieces: list[tuple[str, int | None, int]] = []
        for index, text in enumerate(texts):
            pieces += ((" ", None, 0), (text, index, 0)) if index else ((text, index, 0),)
        return cls(texts, pieces)

    def parts_of(self, found: Iterable[Finding], *, is_context: bool = False) -> Iterator[tuple[str, list[Finding]]]:
        """Yield the findings over more than one text as findings in each of them, with the text.

        Args:
            is_context: also yield findings within one text, which another text may explain.
        """
        for finding in found:
            parts = list(self._parts(finding))
            is_split = len({index for index, _ in parts}) > 1
            if is_split or (is_context and not self._is_cut(finding)):
                yield from ((self._texts[index], [part]) for index, part in parts)

    def _is_cut(self, finding: Finding) -> bool:
        """Return whether the finding touches a place where a long text was cut."""
        around = self.text[max(0, finding.start - len(APART)) : finding.end + len(APART)]
        return APART in around

    def _parts(self, finding: Finding) -> Iterator[tuple[int, Finding]]:
        first = max(0, bisect_right(self._starts, finding.start) - 1)
        for place in range(first, len(self._pieces)):
            piece, index, offset = self._pieces[place]
            begin = self._starts[place]
            if begin >= finding.end:
                return
            start, end = max(begin, finding.start) - begin, min(begin + len(piece), finding.end) - begin
            if index is not None and piece[start:end].strip():
                written = piece[start:end]
                yield index, finding._replace(start=start + offset, end=end + offset, value=written)
