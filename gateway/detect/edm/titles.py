"""A listed given name that stands alone with a title, as people of some languages are spoken of.

is_addressed(text, run, run.at, own)      # "Pak Budi", "Defne Hanım'a"
"""

from __future__ import annotations

import re

from sovctl.gateway.detect.edm.people import ARTICLES
from sovctl.gateway.detect.edm.run import Run
from sovctl.gateway.detect.edm.vocabulary import Listed
from sovctl.gateway.detect.names.cues import TITLES

_HONORIFIC = re.compile(r"[ \u00a0](?:[Bb]ey|BEY|[Hh]an[ıi]m|HANIM|[Hh]oca|[Ee]fendi|[Аа]ға|[Аа]пай|[Хх]аным|[Мм]ырза)")
"""Turkish and Kazakh titles, which stand behind a given name."""
_ARTICLE_BEFORE = re.compile(r"(?<![^\W\d_])(?:[AaEe][lsrzndt]|[Aa]sh)-\Z")


def has_title_behind(text: str, end: int) -> bool:
    """True where a word that ends at `end` has such a title behind it."""
    return _HONORIFIC.match(text, end) is not None


def is_addressed(text: str, run: Run, first: int, own: Listed) -> bool:
    """True for a listed given name with a title: Pak Budi, Defne Hanım."""
    token = run.tokens[run.at]
    if not own.exact_givens or not token.is_capital:
        return False
    before = run.tokens[first - 1].text if first > 0 else ""
    return before.lower() in TITLES or has_title_behind(text, token.end)


def has_article(run: Run, first: int, own: Listed) -> bool:
    """True for an Arabic surname with its article; "el Acuerdo" and "Al Comune" have one of another language."""
    before = run.tokens[run.at - 1]
    if first == run.at or before.text.lower() not in ARTICLES:
        return False
    is_hyphenated = run.tokens[run.at].gap == "-"
    return is_hyphenated or (before.is_capital and run.at > 1 and not own.is_common and not own.is_everyday)


def has_article_before(text: str, start: int) -> bool:
    """True where a word has such an article with a hyphen before it."""
    return text[start - 1 : start] == "-" and _ARTICLE_BEFORE.search(text, max(0, start - 5), start) is not None
