"""Finds names of people in a view, by context and by the site's list; the text is split into words once for both.

finder = NameFinder()
[(f.start, f.end) for f in finder.find(NormalizedText("Dear Mr. Ola Nordmann, thank you"), [])]     # [(9, 21)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .findings.finding import Finding
from .names.context import SCORES, find_names
from .text.view import NormalizedText

if TYPE_CHECKING:
    from .edm.matching.finder import EdmFinder


class NameFinder:
    """Finds names; see `detect.finder.Finder`.

    Args:
        listed: finds the site's own people and companies.
    """

    def __init__(self, listed: EdmFinder | None = None) -> None:
        self._listed = listed
        self.rules = (*SCORES, *(listed.rules if listed else ()))

    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterator[Finding]:
        """Return names in the view, possibly overlapping, without titles and greetings."""
        yield from find_names(view.words, found)
        if self._listed is not None:
            yield from self._listed.find(view.words)
