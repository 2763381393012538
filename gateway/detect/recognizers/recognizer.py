"""The interface of recognizers: each recognizes an entity type at a place that the scanner found.

A recognizer defines patterns for the scanner, and decides at each place where one of them matched. It reads only the
identifier and the words around it, so a text without matches has no further cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..context.surroundings import TextContext
from ..findings.finding import Finding
from ..text.scanner import Pattern


class Recognizer(Protocol):
    """Recognizes identifiers of one kind, or of several alike."""

    @property
    def rules(self) -> Sequence[str]:
        """Names of all rules that its findings can carry."""

    @property
    def patterns(self) -> Sequence[Pattern]:
        """Patterns for the scanner."""

    def at(self, text: str, start: int, pattern: int, context: TextContext) -> Finding | None:
        """Return the identifier at a hit, or None.

        Args:
            start: of the hit; leftmost, so it may lie before what the pattern needs.
            pattern: index into `patterns` of the one that hit.
        """
