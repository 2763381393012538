"""The judge: runs recognizers in a window and keeps what their checks confirm.

A rule joins a recognizer with when to try it and what else must hold. Two things differ from Presidio's own loop, and
both are leaks there (seen in 2.2.366): a candidate that fails its check hides nothing that begins inside it, and one
that ran on into the next number ("4111 1111 1111 1111 123") is tried again without its tail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import regex

from sovctl.gateway.detect.candidates import Anchor, Window
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.kinds import Kind

_NEAR_BEFORE = 48  # characters in which a context word counts: about eight words
_NEAR_AFTER = 16
_SEPARATORS = " -./"

NOT_PERSONAL = re.compile(
    r"\b(?:order|invoice|ticket|case|build|version|release|ref|reference|part|sku|serial|commit|tracking|batch|job)\b"
    r"[\s.:#no-]{0,8}\Z",
    re.IGNORECASE,
)
"""What stands right before a number that is nobody's: order 9280345612, build 20240117."""


@dataclass(frozen=True)
class Rule:
    """When to try a recognizer, and when to believe it."""

    kind: Kind
    recognizer: Any
    """A Presidio `PatternRecognizer`."""
    anchor: Anchor
    normalise: Callable[[str], str]
    """One form for all ways of writing the same identifier."""
    min_digits: int = 0
    """Digits a window must have."""
    min_score: float = 0.5
    """Patterns below this are believed only when their check holds."""
    context: re.Pattern[str] | None = None
    """Words of which one must stand near, for identifiers that are only digits with one check digit."""
    unless: re.Pattern[str] | None = None
    """Words right before it that speak against."""

    @property
    def name(self) -> str:
        """As `explain` shows it."""
        return str(self.recognizer.name)

    @cached_property
    def patterns(self) -> tuple[tuple[Any, float], ...]:
        """Compiled patterns with their scores. The standard `re` is quicker; `regex` takes what it cannot."""
        flags = int(self.recognizer.global_regex_flags)
        return tuple((_compiled(pattern.regex, flags), float(pattern.score)) for pattern in self.recognizer.patterns)


def findings_in(text: str, window: Window, rule: Rule) -> Iterator[Finding]:
    """What `rule` confirms inside `window`."""
    if window.digits < rule.min_digits:
        return
    for pattern, pattern_score in rule.patterns:
        position = window.start
        while (match := pattern.search(text, position, window.end)) is not None:
            start = match.start()
            end, score = _confirmed(text, start, match.end(), pattern, pattern_score, rule)
            if score and _context_allows(text, start, end, rule):
                yield Finding(start, end, rule.kind, score, rule.normalise(text[start:end]), rule.name)
                position = end
            else:
                position = start + 1


def _confirmed(text: str, start: int, end: int, pattern: Any, pattern_score: float, rule: Rule) -> tuple[int, float]:
    """The candidate's end and score after its checks; a score of 0 when it is none."""
    while True:
        score = _score(text[start:end], pattern_score, rule)
        if score:
            return end, score
        cut = max(text.rfind(separator, start, end) for separator in _SEPARATORS)
        if cut <= start or pattern.fullmatch(text, start, cut) is None:
            return end, 0.0
        end = cut


def _score(candidate: str, pattern_score: float, rule: Rule) -> float:
    verdict = rule.recognizer.validate_result(candidate)
    if verdict is not None and not verdict:
        return 0.0
    if rule.recognizer.invalidate_result(candidate):
        return 0.0
    score = 1.0 if verdict else pattern_score
    return score if score >= rule.min_score else 0.0


def _context_allows(text: str, start: int, end: int, rule: Rule) -> bool:
    if rule.unless is not None and rule.unless.search(text, max(0, start - _NEAR_BEFORE), start):
        return False
    if rule.context is None:
        return True
    near = text[max(0, start - _NEAR_BEFORE) : start] + " " + text[end : end + _NEAR_AFTER]
    return rule.context.search(near) is not None


def _compiled(pattern: str, flags: int) -> Any:
    names = [(regex.IGNORECASE, re.IGNORECASE), (regex.MULTILINE, re.MULTILINE), (regex.DOTALL, re.DOTALL)]
    try:
        return re.compile(pattern, sum(int(ours) for theirs, ours in names if flags & theirs))
    except re.error:
        return regex.compile(pattern, flags)
