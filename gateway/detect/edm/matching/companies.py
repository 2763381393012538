"""Listed companies: their words in order, without the legal form.

company_in(run, known, index)             # [3, 4]: the tokens of "Nordlicht Logistik" in a `WordRun`
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from ..forms.common_words import is_common
from ..index.index import Index
from ..index.people import is_legal_form
from .vocabulary import Listed
from .word_run import WordRun

_MOST_COMBINATIONS = 16
_REACH = 3  # words before the one by which a company is noticed
_SHORTEST_ALONE = 4  # letters of a company of one word


def company_in(run: WordRun, known: Sequence[Listed], index: Index) -> list[int]:
    """Return the tokens of a listed company around the word of the run, or None."""
    if not known[run.at].is_company:
        return []
    own = [place for place, token in enumerate(run.tokens) if not is_legal_form(token.text)]
    if run.at not in own:
        return []
    at = own.index(run.at)
    for start in range(max(0, at - _REACH), at + 1):
        for end in range(len(own), at, -1):
            places = own[start:end]
            rows = islice(product(*(known[place].sure for place in places)), _MOST_COMBINATIONS)
            if any(map(index.has_company, rows)) and _is_company(run, places):
                return places
    return []


def _is_company(run: WordRun, places: Sequence[int]) -> bool:
    """Return whether these words are a company: they have capitals, a legal form next to them, or quotation marks."""
    first, last = run.tokens[places[0]], run.tokens[places[-1]]
    beside = [run.tokens[place].text for place in (places[0] - 1, places[-1] + 1) if 0 <= place < len(run.tokens)]
    if any(map(is_legal_form, beside)):
        return True
    if len(places) > 1:
        return first.is_capital or first.is_caseless or not all(is_common(run.tokens[place].text) for place in places)
    is_quoted = any(mark in first.gap for mark in "\"'«“„")
    is_own = first.is_capital and not is_common(first.text) and len(first.text) >= _SHORTEST_ALONE
    return is_own or (is_quoted and last.is_capital)
