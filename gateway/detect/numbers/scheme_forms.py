"""Validates letters and digits in fixed positions by the schemes: "12345678Z", "RSSMRA85T10A562S", "GB980780684"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..context.topics import Topics
from ..findings.finding import Finding
from ..text.scanner import Pattern
from ..text.words import is_inside_word
from ..validators.scheme import Form, Needs, compact

_REST_OF_UUID = re.compile("-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
_SCORE_WORD, _SCORE_ALONE = 1.0, 0.9
_ALONE = "(?:^|[^0-9A-Za-z])(?:{})(?:[^0-9A-Za-z]|$)"
# Here a letter's case is part of the identifier.
_HAS_CASE = frozenset({EntityType.CRYPTO})
# Nothing that is ordered, sent or built has a number of this form.
_UNMISTAKABLE = frozenset({EntityType.CRYPTO, EntityType.MAC})


class FormRecognizer:
    """Finds identifiers of letters and digits.

    Args:
        forms: tried where their own pattern hits.
    """

    def __init__(self, forms: Sequence[Form], topics: Topics) -> None:
        self._forms = [
            (
                form,
                re.compile(form.pattern, re.ASCII if form.has_case else re.IGNORECASE | re.ASCII),
                topics.mask(*form.near),
            )
            for form in forms
        ]
        self._order = topics.mask("@order")

    @property
    def rules(self) -> Sequence[str]:
        """Names of all schemes."""
        return [form.rule for form, _, _ in self._forms]

    @property
    def patterns(self) -> Sequence[Pattern]:
        """The forms, without an adjacent letter or digit."""
        return [Pattern(_ALONE.format(form.pattern), has_case=form.has_case) for form, _, _ in self._forms]

    def at(self, text: str, start: int, pattern: int, context: TextContext) -> Finding | None:
        """Return the identifier that begins at `start` or directly after it."""
        form, expression, mask = self._forms[pattern]
        match = expression.match(text, start) or expression.match(text, start + 1)
        if match is None or is_inside_word(text, match.start(), match.end()):
            return None
        start = match.start()
        if form.needs is not Needs.NOTHING and context.has_no_word_near(start, match.end()):
            return None
        if text[start].isdigit() and text[start - 1 : start] in (".", ":") and text[start - 2 : start - 1].isdigit():
            return None  # the end of a time or a decimal: "11:04:09.113Z"
        if _REST_OF_UUID.match(text, match.end()):
            return None
        written = match.group()
        value = written if form.entity_type in _HAS_CASE else compact(written)
        if form.check is not None and not form.check(value):
            return None
        if form.needs is not Needs.NOTHING and not context(start, match.end()).has_topic_near(mask, self._order):
            return None
        score = _SCORE_WORD
        if form.needs is Needs.NOTHING:
            words = context(start, match.end())
            if not words.near & mask:
                if words.touching & self._order and form.entity_type not in _UNMISTAKABLE:
                    return None
                score = _SCORE_ALONE
        return Finding(start, match.end(), form.entity_type, score, value, form.rule)
