"""Decides whether two listed words of one run are one person's name, by their form and the words between them.

    may_be_one(known[0], known[1], "A", "K")          # Anna, Kowalska
    may_join(run, known, 0, 1)                        # no words between them, or only words of names
    is_phrase(text, run, known, 0, 1, given=0)        # "In der Ecke": words with capitals that are not a name

`finder` checks whether the list has a person with both words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, product

from ...names.cues import PARTICLES
from ...names.given_names import is_given_name
from ..index.people import ARTICLES, JOINTS, SERVANT
from ..index.values import Values
from .vocabulary import Listed
from .word_run import WordRun

_WITHIN = PARTICLES | ARTICLES | SERVANT | JOINTS | {"e", "y", "i", "o", "d", "do", "l", "t"}
"""Between two names of one person; the letters are those of "Albuquerque e Castro", "l'espérance", "van 't hoff"."""
_MOST_BETWEEN = 2  # words besides those
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n\r>•*«“\"(-])[ \t]{0,4}\Z")


def is_at_sentence_start(text: str, start: int) -> bool:
    """Return whether a sentence begins at `start`, where every word has a capital."""
    return _SENTENCE_START.search(text, max(0, start - 6), start) is not None


def pairs_of(run: WordRun) -> Iterator[list[tuple[int, int]]]:
    """Yield pairs of tokens that could be one name: in the part of the run's word, then across one separator."""
    parts = run.parts()
    at = next(number for number, part in enumerate(parts) if run.at in part)
    yield list(combinations(parts[at], 2))
    if at + 1 < len(parts):
        yield list(product(parts[at], parts[at + 1]))
    if at > 0:
        yield list(product(parts[at - 1], parts[at]))


def is_boundary(word: str) -> bool:
    """Return whether a word without a capital cannot be part of a name."""
    return word.islower() and word not in _WITHIN and not is_given_name(word)


def boundaries_of(run: WordRun) -> list[int]:
    """Return the number of words that cannot be part of a name before each token, and before the end."""
    return [0, *accumulate(is_boundary(token.text) for token in run.tokens)]


def may_be_within(between: str) -> bool:
    """Return False if a word between two words cannot be part of a name; fast for most texts."""
    return len(between) <= 1 or not any(word.isalpha() and is_boundary(word) for word in between.split())


def may_be_one(first: Listed, second: Listed, letter: str, other: str, values: Values) -> bool:
    """Return whether two words may be one name, by their capitals.

    Without two capitals, one must be a given name; in a script with capitals, both must be written as listed. If both
    are also words, as in "peter white", the first must be a common given name, or the text have no capitals.

    Args:
        letter, other: with which they begin.
    """
    if letter.isupper() and other.isupper():
        return True
    if not (first.is_giver or second.is_giver):
        return False
    is_cased = letter.isupper() or other.isupper() or (letter.islower() and other.islower())
    if not is_cased or _is_written_as_listed(first, second):
        return True
    if not (letter.islower() and other.islower() and first.exact_givens and second.exact):
        return False
    return first.is_given or (values.is_lower and not (first.is_common_word or second.is_common_word))


def are_prose(first: Listed, second: Listed, letter: str, other: str, values: Values, between: str = " ") -> bool:
    """Return whether two words without two capitals are prose, because one is a common word. Slow, so checked last.

    Args:
        between: text between both; a sign alone joins them to one name, as in `made_rangkuti`.
    """
    if (letter.isupper() and other.isupper()) or between in ("_", ".", "-"):
        return False
    return any(each.is_common_word and not values.is_foreign(each.everyday_in) for each in (first, second))


def may_join(run: WordRun, known: Sequence[Listed], first: int, second: int, *, is_reversed: bool = False) -> bool:
    """Return whether the words between two words may be part of a name.

    Args:
        is_reversed: the surname is the first; then a comma may be between them in a script without capitals.
    """
    both_capital = run.tokens[first].is_capital and run.tokens[second].is_capital
    is_separated = any(token.is_separated for token in run.tokens[first + 1 : second + 1])
    if is_separated and not both_capital:
        return is_reversed and second == first + 1 and run.tokens[first].is_caseless and run.tokens[second].is_caseless
    others = 0
    for token, listed in zip(run.tokens[first + 1 : second], known[first + 1 : second], strict=True):
        lowered = token.text.casefold()
        # Of "don't"; and "do" is a word of many languages.
        is_cut = (lowered == "t" and not token.gap.startswith(" ")) or (lowered == "do" and not both_capital)
        if (lowered in _WITHIN and not is_cut) or is_given_name(lowered):
            continue
        others += 1
        if token.is_caseless and not is_separated and not listed.is_common_word:
            continue  # the father's name: ليلى بنت أسامة قباني
        if not (both_capital and token.is_capital and (listed.is_listed or not is_separated)):
            return False
    return others <= _MOST_BETWEEN


def joined(pairs: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    """Return the first and last token of one name: the pair at `at`, else the first pair, and all that overlap it."""
    first, last = next((pair for pair in pairs if pair[0] <= at <= pair[1]), pairs[0])
    for _ in pairs:
        for start, end in pairs:
            if start <= last and end >= first:
                first, last = min(first, start), max(last, end)
    return first, last


def is_phrase(text: str, run: WordRun, known: Sequence[Listed], first: int, second: int, *, given: int) -> bool:
    """Return whether two words have capitals for another reason, as at a sentence's start, and are not a known name.

    Args:
        given: which of both would be the given name.
    """
    tokens = run.tokens[first], run.tokens[second]
    if not (known[first].is_common_word or known[second].is_common_word) or not all(
        token.is_capital for token in tokens
    ):
        return False
    is_first = known[first].is_common_word and is_at_sentence_start(text, tokens[0].start)
    if not is_first and not all(token.text.isupper() for token in run.tokens):
        return False
    return not (_is_written_as_listed(known[first], known[second]) or is_given_name(run.tokens[given].text))


def _is_written_as_listed(first: Listed, second: Listed) -> bool:
    if first.is_common and second.is_common:
        return False
    return is_name(first, second) or is_name(second, first)


def is_name(given: Listed, surname: Listed) -> bool:
    """Return whether a given name and a surname are a name: one is written as listed, the other at least as a name."""
    if given.exact_givens:
        return bool(surname.exact) or (given.is_given and bool(surname.surnames) and not surname.is_common)
    return given.is_given and bool(given.givens) and bool(surname.surnames) and not surname.is_common
