"""Finds the identifiers that a site's own recognizers describe, in one pass of the scanner.

A hit of a pattern is a finding if its checksum is valid and a context word is near. The patterns are Hyperscan's, so
the pass is linear; every hit is read once, and a hit costs at most a fixed number of characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...domain.entities import EntityType
from ...domain.work import metered
from ..findings.finding import Finding
from ..numbers.digit_runs import Spans
from ..text.scanner import Hit, Pattern, Scanner
from ..text.view import NormalizedText
from ..validators.scheme import Check, compact
from .context_words import NearWords

_EDGE = "\n"  # before and after a text, so that a match there has a character next to it
_OUTSIDE_WORD = "[^0-9A-Za-z]"
# Units of work of a hit, measured 2026-11.
_HIT_WORK, _CHECK_WORK, _CONTEXT_WORK = 2, 4, 8


@dataclass(frozen=True, slots=True)
class CustomRule:
    """One recognizer."""

    name: str
    entity_type: EntityType
    score: float
    patterns: tuple[str, ...]
    is_case_sensitive: bool
    is_whole_word: bool
    check: Check | None
    near: NearWords | None

    @property
    def work(self) -> int:
        """Units of work of a hit."""
        return _HIT_WORK + (_CHECK_WORK if self.check else 0) + (_CONTEXT_WORK if self.near else 0)

    def scanned(self) -> list[Pattern]:
        """Return the patterns for the scanner."""
        return [
            Pattern(
                f"{_OUTSIDE_WORD}(?:{each}){_OUTSIDE_WORD}" if self.is_whole_word else each,
                has_case=self.is_case_sensitive,
                is_unicode=True,
            )
            for each in self.patterns
        ]


class CustomFinder:
    """Finds what the recognizers describe; see `finder.Finder`.

    Args:
        rules: with patterns that `patterns.problem_of` accepts.

    Raises:
        hyperscan.HyperscanError: the patterns are too large together.
    """

    def __init__(self, rules: Sequence[CustomRule]) -> None:
        self.rules = tuple(rule.name for rule in rules)
        self._all = tuple(rules)
        self._scanner = Scanner([pattern for rule in rules for pattern in rule.scanned()])
        self._rule_of = [(number, rule) for number, rule in enumerate(rules) for _ in rule.patterns]
        self._work = max(rule.work for rule in rules)
        self._near = [rule.near for rule in rules if rule.near is not None]

    def explains(self, label: str) -> bool:
        """Return whether a label contains a context word of a recognizer."""
        return any(near.explains(label) for near in self._near)

    def find(self, view: NormalizedText, _found: Sequence[Finding]) -> Iterable[Finding]:
        """Return the identifiers in `view`; of one rule none overlap."""
        text = view.text
        hits = self._scanner.scan(f"{_EDGE}{_encodable(text)}{_EDGE}")
        if not hits:
            return []
        spans: dict[int, list[tuple[int, int]]] = {}
        for hit in metered(hits, self._work):
            number, rule = self._rule_of[hit[2]]
            start, end = _span(hit, rule, len(text))
            if start < end and _is_believed(rule, text, start, end):
                spans.setdefault(number, []).append((start, end))
        ours = Spans(view.tokens)
        return [
            Finding(start, end, rule.entity_type, rule.score, _value(text[start:end]), rule.name)
            for number, found in spans.items()
            for rule in (self._all[number],)
            for start, end in _joined(found)
            if not ours.overlaps(start, end)
        ]


def _span(hit: Hit, rule: CustomRule, length: int) -> tuple[int, int]:
    """Return the span of a hit in the text without its edges, and without the characters around a whole word."""
    end, start, _ = hit
    if rule.is_whole_word:
        return start, end - 1 - len(_EDGE)
    return max(0, start - len(_EDGE)), min(length, end - len(_EDGE))


def _is_believed(rule: CustomRule, text: str, start: int, end: int) -> bool:
    if rule.check is not None and not rule.check(text[start:end]):
        return False
    return rule.near is None or rule.near.has_word(text, start, end)


def _joined(spans: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Return the spans as a scanner gives them, with those that overlap as one, so that no half of a value remains."""
    together: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if together and start < together[-1][1]:
            together[-1] = together[-1][0], max(end, together[-1][1])
        else:
            together.append((start, end))
    return together


def _value(text: str) -> str:
    return compact(text) or text


def _encodable(text: str) -> str:
    """Return the text with a question mark for every surrogate, which UTF-8 cannot express; of the same length."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
