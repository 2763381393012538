"""Finds names of people by the words around them, in eight languages.

A title, an introduction, a greeting, a closing, a role, a `name:` field, a patronymic, a known given name before a
surname, a cell next to an identifier, the line below a label: in these places a word is a person. It is not a name
model: a name without such a context is not found, so policy states the languages in which the site accepts that.

    [(f.start, f.end) for f in find_names(words_of("Dear Mr. Ola Nordmann, thank you"))]     # [(9, 21)]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ...domain.entities import EntityType
from ..findings.finding import Finding, name_value
from ..text.words import Words
from .by_form import by_form
from .clues import clues_in
from .cue_words import by_cue
from .in_fields import in_fields, in_rows, speakers

SCORES = {
    "NAME_TITLE": 0.85,
    "NAME_INTRODUCED": 0.75,
    "NAME_FIELD": 0.75,
    "NAME_GREETING": 0.7,
    "NAME_CLOSING": 0.7,
    "NAME_PATRONYMIC": 0.85,
    "NAME_GIVEN": 0.65,
    "NAME_ROLE": 0.6,
    "NAME_ROW": 0.6,
    "NAME_SPEAKER": 0.7,
    "NAME_JOINED": 0.6,
}
_BESIDE = " \u00a0,"  # between the words of a name and a tab


def find_names(text_words: Words, found: Sequence[Finding] = ()) -> Iterator[Finding]:
    """Yield names in a text; a name that continues after a tab is split at the tab.

    Args:
        found: identifiers in the same text; a name in the same row as one is believed with less.
    """
    text, clues = text_words.text, clues_in(text_words.folded)
    everywhere = (
        by_cue(text_words, clues),
        in_fields(text),
        speakers(text),
        by_form(text_words, clues),
        in_rows(text, found),
    )
    for rule, name in itertools.chain(*everywhere):
        start = name.start
        for cell in text[start : name.end].split("\t"):  # "Anna<TAB>Quandt": one person, but two columns
            if written := cell.strip(_BESIDE):
                first = start + cell.index(written)
                yield Finding(first, first + len(written), EntityType.PERSON, SCORES[rule], name_value(written), rule)
            start += len(cell) + 1
