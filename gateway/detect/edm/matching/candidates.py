"""Positions of listed words in a text that could be names: `finder` evaluates only these.

In prose, half of the words sound like a name of a long list. Nearly all of them need a capital to be a name
(`Listed.needs_context`): they are searched for with a capital, and next to given names.

    [(start, end) for start, end, listed in marks_of(words_of("the file of Anna kowalska"), vocabulary)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from ...text.words import MARKS, Words
from .pairs import is_boundary
from .vocabulary import Listed, Vocabulary, folded

REACH = 30
"""Characters between two words of one name, with particles, initials and a middle name."""

Mark = tuple[int, int, Listed]
"""Start and end of a word, and what it is."""

_BEFORE_CAPITALS = ' ._/*"(-'
_WITHIN = frozenset(_BEFORE_CAPITALS)
_LETTER = rf"[^\x00-@\[-`{{-\x7f{''.join(MARKS)}]"  # of a word of a `Words`
_WORD = re.compile(rf"{_LETTER}+")
_CAPITAL = re.compile(rf"[A-Z]{_LETTER}*")
_CUT = re.compile(r"['’`]|-\r?\n[ \t]{0,2}")
_LONGEST_HALF = 30  # letters
_CUT_WORD = re.compile(rf"([^\W\d_]{{2,{_LONGEST_HALF}}})(?:{_CUT.pattern})([^\W\d_]{{2,{_LONGEST_HALF}}})")
_SOFT = re.compile(
    rf"(?<!\w)(?:[а-яґ]['’`ʼ][яюєїе]|[b-df-z]['’`][yji][aeou])[^\W\d_]{{2,{_LONGEST_HALF}}}", re.IGNORECASE
)
"""В'ячеслав, D'yakonov: such a sign is a letter's, where others cut an article off."""
_SERVANT = re.compile(r"عبد(?:(?<=\bعبد)|(?<=\b[وفبكل]عبد)) (ال[^\W\d_]{3,30})")
_ELIDED = re.compile(rf"(?<!\w)[LDld]['’]([^\W\d_a-z][^\W\d_]{{2,{_LONGEST_HALF}}})")


def marks_of(text_words: Words, vocabulary: Vocabulary) -> list[Mark]:
    """Return the marks of a text, in order."""
    text = text_words.text
    words = dict(zip(map(hash, text_words.distinct), text_words.distinct, strict=True))
    hashes = set(words)
    echoes = hashes & vocabulary.echoes
    listed: dict[bytes, Listed] = {}
    for hashed in hashes - vocabulary.strangers - echoes:
        found = vocabulary.look_up(words[hashed])
        if hashed in vocabulary.echoes:
            echoes.add(hashed)
        elif found.is_listed and _may_be_name(text, found):
            listed[words[hashed]] = found
    marks = {mark[:2]: mark for mark in _places(text_words, listed)}
    if echoes:
        for match in _CAPITAL.finditer(text):
            word = folded(match[0])
            if hash(word) in echoes and (match.start() == 0 or not _WORD.match(text, match.start() - 1)):
                found = vocabulary.look_up(word)
                is_within = text[match.start() - 1 : match.start()] in _WITHIN and match[0] in found.capitals
                if is_within or _may_be_name(text, found):
                    marks[match.span()] = (*match.span(), found)
    cut = [*_cut_words(text, vocabulary), *_abd_names(text, vocabulary)]
    if echoes:
        givers = [(start, end) for start, end, found in (*marks.values(), *cut) if found.is_giver]
        marks.update((mark[:2], mark) for giver in givers for mark in _beside(text, *giver, echoes, vocabulary))
    return sorted((*marks.values(), *cut), key=lambda mark: mark[:2])


def _places(text_words: Words, listed: Mapping[bytes, Listed]) -> Iterator[Mark]:
    """Everywhere these words stand."""
    places = sorted((place, word) for word in listed for place in text_words.places(word))
    starts = text_words.characters([place for place, _ in places])
    ends = text_words.characters([place + len(word) for place, word in places])
    return ((start, end, listed[word]) for start, end, (_, word) in zip(starts, ends, places, strict=True))


def _beside(text: str, start: int, end: int, echoes: set[int], vocabulary: Vocabulary) -> Iterator[Mark]:
    """Yield words next to a given name, which form a name with it even without a capital."""
    before = text[max(0, start - 2 * REACH) : start][::-1]
    behind = text[end : end + 2 * REACH]
    places = [(start - match.end(), start - match.start()) for match in _name_words(before, step=-1)]
    places += [(end + match.start(), end + match.end()) for match in _name_words(behind)]
    for first, last in places:
        word = folded(text[first:last])
        if hash(word) in echoes:
            found = vocabulary.look_up(word)
            if _may_be_name(text, found):
                yield first, last, found


def _name_words(text: str, *, step: Literal[1, -1] = 1) -> Iterator[re.Match[str]]:
    """Yield the words at the start of `text`, up to the first word that cannot be part of a name.

    Args:
        step: -1 for a text that is read backwards.
    """
    for match in _WORD.finditer(text):
        if match.start() > REACH:
            return
        yield match
        if is_boundary(match[0][::step]):
            return


def _cut_words(text: str, vocabulary: Vocabulary) -> Iterator[Mark]:
    """Yield words split by an apostrophe or a line break, because their halves are not listed."""
    done = 0
    for cut in _CUT.finditer(text):
        match = _CUT_WORD.search(text, max(done, cut.start() - _LONGEST_HALF), cut.end() + _LONGEST_HALF)
        if match is not None and match.end(1) == cut.start():
            done = match.end()
            listed = vocabulary.look_up(folded(match[1] + match[2]))
            if listed.is_listed:
                yield match.start(1), match.end(1), listed
        elif cut.start() > 0 and (match := _SOFT.match(text, cut.start() - 1)):
            listed = vocabulary.look_up(folded(match[0].replace(cut[0], "")))
            if listed.is_listed:
                yield *match.span(), listed
        elif cut.start() > 0 and (match := _ELIDED.match(text, cut.start() - 1)):
            # An article that is a part of the name, which the list then has with and without it.
            listed = vocabulary.look_up(folded(text[cut.start() - 1] + match[1]))
            if listed.alone and vocabulary.look_up(folded(match[1])).exact:
                yield *match.span(), listed


def _abd_names(text: str, vocabulary: Vocabulary) -> Iterator[Mark]:
    """Yield names such as عبد الله, which the list may also contain as one word."""
    for match in _SERVANT.finditer(text) if "عبد " in text else ():
        listed = vocabulary.look_up(folded(f"عبد{match[1]}"))
        if listed.is_listed:
            yield *match.span(), listed


def _may_be_name(text: str, listed: Listed) -> bool:
    """Return False for a common word without a capital within a sentence. The quick test is first."""
    return not listed.is_common_word or any(
        form in text and any(f"{sign}{form}" in text for sign in _BEFORE_CAPITALS) for form in listed.capitals
    )
