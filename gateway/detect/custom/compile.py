"""Checks a site's recognizers and compiles them into one finder. Reports all problems at once.

finder = custom_finder(located, known_rules=detector.rule_names)

A recognizer is rejected if its name is taken, if Hyperscan does not compile a pattern, if matches may be empty or of
unlimited length, if an example fails, or if it finds more than `_MOST_OF_TEXT` of `ordinary_text.txt`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import hyperscan

from sovctl.support.errors import Problem, SpecError

from ...settings.detection.recognizer import RecognizerContext, RecognizerSettings
from ..detector import Detector
from ..text.deobfuscation import views
from ..text.scanner import Pattern
from .checksums import CHECKSUMS
from .context_words import NearWords
from .finder import CustomFinder, CustomRule
from .patterns import problem_of

_MOST_OF_TEXT = 0.01  # share of the characters of ordinary text that a recognizer may find
_RESERVED = ("MODEL_", "LLM_REVIEW")  # rules of the model finders


class Located(NamedTuple):
    """A recognizer and its place in the settings, such as `detect.recognizers[0]`."""

    where: str
    settings: RecognizerSettings


def custom_finder(located: Sequence[Located], *, known_rules: Collection[str]) -> CustomFinder | None:
    """Return the finder of these recognizers; None without recognizers.

    Args:
        known_rules: names of the built-in rules.

    Raises:
        SpecError: every problem of every recognizer, with its place.
    """
    if not located:
        return None
    problems = [*_names(located, known_rules)]
    for each in located:
        problems += [*_patterns(each)] or [*_behaviour(each)]
    if problems:
        raise SpecError(problems)
    try:
        return CustomFinder([_rule(each.settings) for each in located])
    except hyperscan.HyperscanError as error:
        message = f"expected patterns that Hyperscan compiles together, got: {error}"
        hint = "use fewer or narrower patterns"
        raise SpecError([Problem(message, where="detect.recognizers", hint=hint)]) from error


def _rule(settings: RecognizerSettings) -> CustomRule:
    return CustomRule(
        name=settings.name,
        entity_type=settings.entity_type,
        score=settings.score,
        patterns=tuple(settings.patterns),
        is_case_sensitive=settings.case_sensitive,
        is_whole_word=settings.whole_words,
        check=CHECKSUMS[settings.checksum] if settings.checksum is not None else None,
        near=_near(settings.context) if settings.context is not None else None,
    )


def _near(context: RecognizerContext) -> NearWords:
    before = context.within if context.side != "after" else 0
    after = context.within if context.side != "before" else 0
    return NearWords(context.words, before=before, after=after)


def _names(located: Iterable[Located], known_rules: Collection[str]) -> Iterator[Problem]:
    counts = Counter(each.settings.name for each in located)
    for where, settings in located:
        name = settings.name
        if counts[name] > 1:
            message = f"expected a name that no other recognizer has, got {name} {counts[name]} times"
            yield Problem(message, where=f"{where}.name", hint="rename one of them, or join their patterns")
        elif name in known_rules or name.startswith(_RESERVED):
            message = f"expected a name that no other rule has, got {name}"
            yield Problem(message, where=f"{where}.name", hint=f"for example SITE_{name}")


def _patterns(located: Located) -> Iterator[Problem]:
    settings = located.settings
    for number, scanned in enumerate(_rule(settings).scanned()):
        plain = Pattern(settings.patterns[number], has_case=settings.case_sensitive, is_unicode=True)
        if (problem := problem_of(plain, scanned)) is not None:
            yield Problem(problem.message, where=f"{located.where}.patterns[{number}]", hint=problem.hint)


def _behaviour(located: Located) -> Iterator[Problem]:
    """Yield failed examples, and an excess of findings in ordinary text."""
    where, settings = located
    try:
        finder = CustomFinder([_rule(settings)])
    except hyperscan.HyperscanError as error:
        yield Problem(f"expected patterns that Hyperscan compiles, got: {error}", where=f"{where}.patterns")
        return
    detector = Detector([finder])
    for number, text in enumerate(settings.examples.match):
        if not detector.find(text):
            yield Problem(
                "expected a finding in this example, got none",
                where=f"{where}.examples.match[{number}]",
                hint="correct the example, or patterns, context, checksum and whole_words; leave out `^` and `$`",
            )
    for number, text in enumerate(settings.examples.no_match):
        if detector.find(text):
            yield Problem(
                "expected no finding in this example, got one",
                where=f"{where}.examples.no_match[{number}]",
                hint="narrow the patterns, or add context words or a checksum",
            )
    text = _ordinary_text()
    found = sum(end - start for start, end, *_ in (each for view in views(text) for each in finder.find(view, ())))
    if found > _MOST_OF_TEXT * len(text):
        yield Problem(
            f"expected findings in at most {_MOST_OF_TEXT:.0%} of ordinary text, got {found / len(text):.0%}",
            where=f"{where}.patterns",
            hint="add a fixed prefix, context words or a checksum",
        )


@cache
def _ordinary_text() -> str:
    return (Path(__file__).parent / "ordinary_text.txt").read_text(encoding="utf-8")
