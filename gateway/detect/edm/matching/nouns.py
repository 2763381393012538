"""Recognizes nouns by the word before them: an article, an adjective, a number. A noun is not a surname.

is_determined(run, first, last, values, own.form)      # "der Müller mahlt", not "Herr Müller"
is_noun(run, first, values)                            # "alter Müller" in a German text
"""

from __future__ import annotations

import re

from ...names.non_names import is_common_word
from ...names.shape import ends_like_surname
from ..forms.common_words import DETERMINERS
from ..forms.exact_forms import Form
from ..index.people import JOINTS
from ..index.values import Values
from .word_run import WordRun

_ADJECTIVE = re.compile(r"[a-zäöüß]{2,30}(?:(?<!t)e|(?<!t)en|er|es|em)|(?:weite|mehre|ande|nächs|letz|ers)\w{1,4}")
_FAMILIES = {
    "les": Form.AS_LISTED,
    "des": Form.AS_LISTED,
    "los": Form.AS_LISTED,
    "os": Form.AS_LISTED,
    "the": Form.POSSESSIVE,
}
"""Articles of families, by language: French, Spanish and Portuguese surnames have the same form in the plural."""
_SHORTEST_FAMILY = 6  # letters of such a surname


def is_determined(run: WordRun, first: int, last: int, values: Values, form: Form) -> bool:
    """Return whether an article or a similar word precedes, except for "the Shcherbakov case", "der Kowalska-Kredit".

    A family counts as a name: "chez les Fontenoy", "the Abernethys".
    """
    token, opening = run.tokens[run.at], run.tokens[first]
    if ends_like_surname(token.text) or last > run.at:
        return False
    if first < run.at and opening.is_capital and values.is_german and opening.text.lower() in DETERMINERS:
        return True  # "Der" of "Der Müller mahlt" looks like a part of the name
    before = run.tokens[first - 1].text.lower() if first > 0 else ""
    if (
        before in _FAMILIES
        and not (before == "des" and values.is_german)
        and form is _FAMILIES[before]
        and (form or token.text[-1] not in "sxz")
    ):
        return len(token.text) < _SHORTEST_FAMILY
    return before in DETERMINERS and before not in JOINTS


def is_noun(run: WordRun, place: int, values: Values) -> bool:
    """Return whether the word is a German noun after its adjective or a number."""
    if place == 0 or ends_like_surname(run.tokens[run.at].text) or not values.is_german:
        return False
    before = run.tokens[place - 1].text
    return before[-1].isdigit() or (_ADJECTIVE.fullmatch(before) is not None and not is_common_word(before))
