"""Recognizes numbers of passports, driving licences and cars without a fixed form: those next to such a word.

    list(candidates("licence plate YO53 PRH", 0))    # [(14, 22)]

Mixed digits and capitals are frequent, so only those near one of these words are candidates; `document_numbers` then
evaluates the topics of the words around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..context.topics import named_topics
from ..text.scanner import Pattern

_TOPICS = ("passport", "licence", "plate")
_FEWEST_LETTERS = 4  # of a word that may be part of another word; shorter ones must be whole words
_BEHIND, _BEFORE = 56, 40  # characters between
_ANY_GAP = {"_": "[ _.'-]{0,2}"}

# Groups of capitals and digits, as "YO53 PRH", "C867-4460-7131", "А123ВС 77", "沪A-12345".
_CAPITALS = "0-9A-ZÄÖÜА-ЯІЇЄΑ-Ω"
_LETTERS = f"{_CAPITALS}a-zäöüßа-яα-ω"
_CODE = rf"[{_CAPITALS}]{{1,20}}(?:[ ·№-][{_CAPITALS}]{{1,9}}){{0,3}}(?![{_LETTERS}_])"
_SMALL = rf"[A-Za-z]{{1,3}}-?[0-9]{{6,9}}[a-z]?(?![{_LETTERS}_])"  # a passport's in small letters: "ab1234567"
# Plates with letters that have no case: "ب ص ن 1411", "1411 ب ص ن", "品川 300 あ 12-34", "12가 3456", "京A·12345".
_ARABIC = "[\u0621-\u064a](?: ?[\u0621-\u064a]){1,2}(?![\u0621-\u064a])"
_KOREAN = "서울|부산|대구|인천|광주|대전|울산|세종|경기|강원|충북|충남|전북|전남|경북|경남|제주"
_PLATE = (
    rf"(?<![\u0621-\u064a]){_ARABIC} ?-? ?[0-9]{{1,4}}(?![0-9])|[0-9]{{1,4}} ?-? ?{_ARABIC}"
    r"|(?:[\u4e00-\u9fff]{1,4}|つくば|いわき|なにわ|とちぎ) ?[0-9]{2,3} ?[\u3041-\u3096] ?[0-9\u30fb-]{1,7}"
    r"|[АВЕКМНОРСТУХавекмнорстух] ?[0-9]{3} ?[АВЕКМНОРСТУХавекмнорстух]{2} ?[0-9]{2,3}(?![0-9])"
    rf"|(?:(?:{_KOREAN}) ?)?[0-9]{{2,3}} ?[\uac00-\ud7a3] ?[0-9]{{4}}"
    r"|[\u4e00-\u9fff][A-Z][ ·-]{0,2}[0-9A-Z]{5,6}(?![0-9A-Za-z])"
    # Thailand: two consonants, with a digit before them since the letters ran out (Department of Land Transport).
    r"|(?<![\u0e01-\u0e4e])[0-9]? ?[\u0e01-\u0e2e]{2} ?-? ?[0-9]{1,4}(?![0-9])"
)
_NUMBER = re.compile(rf"(?<![{_LETTERS}_-])(?:{_PLATE}|{_CODE}|{_SMALL})")
_NATIONAL_PLATE = re.compile(_PLATE)
# Digits alone are a plate directly after the word and a sign: "plate_number: 28-92488".
_DIGITS = re.compile(
    r"\W?[\w.]{0,24}(?: ?(?:number|no\.?|nr\.?|#))?[\"'`]{0,2}(?:\s{0,2}(?::=|[:=：>→|(\[]|-\s|\.{3,8}|_{3,8}|\t))"
    r"[ \[(\"'`]{0,4}(?P<digits>(?!(?:19|20)[0-9]{2}(?![0-9-]))[0-9]{4,8}|[0-9]{2,3}-[0-9]{2,5}(?:-[0-9]{2,3})?)"
    r"(?![\w/.:-])"
)
# What German passports and identity cards are numbered with; without a digit it is one in thirty.
_NO_VOWELS = re.compile("[CFGHJK][CFGHJKLMNPRTVWXYZ]{8}")
_NORM = re.compile(
    r"(?:19|20)[0-9]{2} |(?:ISO|DIN|EN|IEC|RFC|VDE|BS|ANSI|NF|UNE|ГОСТ)[ -]?[0-9]+"
    r"(?![0-9A-Z]|[ -][A-Z]{2}(?![0-9A-Za-z]))"
)
"""A year and the word after it, or the name of a standard."""
_FEWEST = 4  # letters and digits; those of passports are counted in `documents`


def _expression(word: str) -> str:
    expression = "".join(_ANY_GAP.get(c, re.escape(c)) for c in word.strip("*"))
    if len(word.strip("*")) < _FEWEST_LETTERS and word.isascii():
        return f"(?:^|[^0-9A-Za-z\\x80-\\xff]){expression}[^0-9A-Za-z\\x80-\\xff]"
    return expression


def _words(topic: str) -> Pattern:
    words = set(named_topics()[topic])
    words |= {form for word in words if not word.isascii() for form in (word.upper(), word[:1].upper() + word[1:])}
    return Pattern("|".join(sorted(map(_expression, words))))


WORDS = tuple(_words(topic) for topic in _TOPICS)
"""Pattern of the start of each topic's words, by topic."""
PLATE_WORDS = WORDS[_TOPICS.index("plate")]
"""Words for plates: some plates have no ASCII letters, or none next to a digit."""


_SHORT_WORDS = {
    word.upper()
    for topic in _TOPICS
    for word in named_topics()[topic]
    if word.isalpha() and len(word) < _FEWEST_LETTERS
}
_SHORT = re.compile(rf"(?:{'|'.join(sorted(_SHORT_WORDS))})[ -]")


def is_national_plate(written: str) -> bool:
    """Return whether `written` is a plate of letters without case, such as Arabic and Japanese ones."""
    return _NATIONAL_PLATE.fullmatch(written) is not None


def candidates(text: str, word: int) -> Iterator[tuple[int, int]]:
    """Yield spans of candidates after the word at `text[word]`, the nearest first; then of those before it."""
    end = min(len(text), word + _BEHIND)
    if digits := _DIGITS.match(text, word):
        yield digits.span("digits")
    yield from _numbers(text, word, end)
    line = text.rfind("\n", max(0, word - _BEFORE), word) + 1
    yield from reversed(list(_numbers(text, max(line, word - _BEFORE), word)))


def _numbers(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    for match in _NUMBER.finditer(text, first, last):
        start, end = match.span()
        if _NORM.match(text, start):
            continue
        written = text[start:end]
        # Words in capitals can precede and follow it.
        if short := _SHORT.match(text, start, end):
            start = short.end()
            written = text[start:end]
        while (words := re.split("[ ]", written)) and len(words) > 1 and words[0].isalpha() and len(words[0]) > 3:
            if len(words) == 2 and len(words[0]) == 4 and words[1].isdigit():
                break  # "UGUC 244"
            start += len(words[0]) + 1
            written = text[start:end]
        if sum(map(str.isalnum, written)) < _FEWEST:
            continue
        if not any(map(str.isdigit, written)) and _NO_VOWELS.fullmatch(written) is None:
            continue
        if not any(map(str.isalpha, written)):
            continue
        yield start, end
        rest, _, last_word = written.rpartition(" ")
        if rest and last_word.isalpha() and len(last_word) > 2 and any(map(str.isdigit, rest)):
            yield start, start + len(rest)
