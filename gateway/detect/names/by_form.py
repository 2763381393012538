"""Finds names by their own form: patronymics, and `X bin Y`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..text.words import Words
from .clues import PATRONYMIC_PARTS, Clue
from .cues import JOINTS
from .given_names import is_given_name
from .shape import Name, is_non_name, name_at, word_before

_OF_FORM = PATRONYMIC_PARTS | JOINTS
_PATRONYMIC = re.compile(
    r"(?:[^\W\d_]{2,20}(?:[оеё]вич)|[^\W\d_]{1,20}льич|(?:кузьм|фом|никит|лук|фок|сав)ич)(?:а|у|ем|е)?"
    r"|[^\W\d_]{2,20}(?:[оеё]вн|иничн|ьиничн|тичн|мичн|кичн)(?:а|ы|е|у|ой|ою)"
    r"|[a-z]{2,20}(?:[oe]vich|[oe]vn[ay])",
    re.IGNORECASE,
)


def by_form(text_words: Words, clues: Sequence[Clue]) -> Iterator[tuple[str, Name]]:
    """Yield names that are recognized by their own form, each with its rule.

    Args:
        clues: in the text.
    """
    clues = [clue for clue in clues if clue[1] in _OF_FORM]
    if not clues:
        return  # most often
    text = text_words.text
    for word in _patronymics(text_words.folded, [end for end, part in clues if part in PATRONYMIC_PARTS]):
        length = len(word.decode())
        for at in text_words.characters(list(text_words.places(word))):
            name = _around_patronymic(text, at, at + length)
            if name is not None:
                yield "NAME_PATRONYMIC", name
    for at in text_words.characters(sorted([end - len(joint) + 1 for end, joint in clues if joint in JOINTS])):
        name = _around_joint(text, at)
        if name is not None:
            yield "NAME_JOINED", name


def _patronymics(folded: bytes, ends: Sequence[int]) -> list[bytes]:
    """Return the patronymics, sorted.

    Args:
        ends: ends of the part that every such word contains.
    """
    candidates = {folded[folded.rindex(b" ", 0, end) + 1 : folded.index(b" ", end)] for end in ends}
    return [word for word in sorted(candidates) if _PATRONYMIC.fullmatch(word.decode("utf-8", "replace"))]


def _around_patronymic(text: str, start: int, end: int) -> Name | None:
    """Return the name around a patronymic: given name and surname before it, or the surname after it."""
    given = word_before(text, start)
    if given is None or is_non_name(given[1], given[1].lower()):
        return None
    is_capital = text[start].isupper() and given[1][0].isupper()
    if not is_capital and not is_given_name(given[1]):
        return None
    first, last, words = given[0], end, 2
    surname = word_before(text, first)
    if is_capital and surname is not None and _is_surname(surname[1]):
        return Name(surname[0], end, 3, 0, 1)
    after = name_at(text, start)
    if after is not None:
        last, words = max(end, after.end), words + after.words - 1
    return Name(first, last, words, 0, 1)


def _is_surname(word: str) -> bool:
    return word[0].isupper() and not is_non_name(word, word.lower())


def _around_joint(text: str, at: int) -> Name | None:
    before = word_before(text, at)
    if before is None or is_non_name(before[1], before[1].lower()):
        return None
    is_caseless = before[1].lower() == before[1].upper()
    if not before[1][0].isupper() and not (is_caseless and is_given_name(before[1])):
        return None
    start = before[0]
    earlier = word_before(text, start)
    if earlier is not None and is_given_name(earlier[1]) and (is_caseless or earlier[1][0].isupper()):
        start = earlier[0]
    name = name_at(text, start)
    return name if name is not None and name.words >= 2 and name.end > at + 2 else None
