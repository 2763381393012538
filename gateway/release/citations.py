"""Checks that every statement of an answer cites a passage of the request, and that the passage supports it.

Deterministic, without a model. A cited passage supports a sentence if

- it contains every number and identifier of the sentence, in any notation (1,234.50 and 1 234,5), and
- it contains at least `min_support` of the sentence's content words, compared without case, diacritics and endings.
  Each word is weighted by its rarity among the passages (the idf of BM25).

The check finds invented facts, wrong numbers and citations of unknown sources. It does not understand text: a sentence
that negates its passage with the same words passes. Questions, headings, code and sentences without a statement need no
citation. A sentence with the site's `ungrounded_mark` declares that no passage supports it, and has its own verdict.

    citations = Citations(settings, {"1": "The deposit rate is 4.0 % a year."})
    citations.judge("Deposits earn 4 % a year. [1]")       # PASS
    citations.judge("Deposits earn 5 % a year. [1]")       # FAIL number-unsupported
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..settings.answers.release import CitationSettings
from .sentences import MARK
from .verdict import Outcome, Verdict
from .words import STEMMED, as_read, stems, words

CHECK, DECLARED = "citations", "declared-ungrounded"

_FEWEST_WORDS = 3
"""Fewest content words of a statement without a number. Guess, 2026-11: "I can help" has one."""
_STEM_LETTERS = 6  # compared letters of a stem, which excludes most endings of most languages
_WIDEST_RANGE = 20  # sources in a mark such as [4-9]

_QUESTION = re.compile(r"[?？؟][\"'”’»)\]}*_`\s]*\Z")
_LEAD = re.compile(r"\A\s*(?:>\s*)?(?:[-*+•–]|\d{1,3}[.)])\s+")
_NO_STATEMENT = re.compile(r"\A\s*(?:#{1,6} |```|~~~)|[:：]\s*\Z")
_RANGE = re.compile(r"(\d{1,4})\s*[-–]\s*(\d{1,4})")
_TOKEN = re.compile(
    r"(?<![^\W\d_])[^\W\d_]+[-/]?\d[\w/-]*|\d+(?:[ \u00a0\u202f'’]\d{3})*(?:[.,:/-]\d+)*(?:[^\W\d_]\w*)?"
)
_DATE = re.compile(r"\d+(?:[:/-]\d+)+|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4}\.\d{1,2}\.\d{1,2}")  # and times, and ranges
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})+\Z")


def _read_little_words() -> frozenset[str]:
    lines = (Path(__file__).parent / "little_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split(":")[-1].split())


_LITTLE = _read_little_words()


class Citations:
    """Judges the sentences of one answer.

    Args:
        passages: text by id, from `passages.passages_of`.
    """

    def __init__(self, settings: CitationSettings, passages: Mapping[str, str]) -> None:
        self._settings = settings
        self._mark = settings.ungrounded_mark.casefold()
        self._words = {name.casefold(): frozenset(content_words(text)) for name, text in passages.items()}
        self._numbers = {name.casefold(): frozenset(_number_forms(text)) for name, text in passages.items()}
        self._spread = Counter(word for found in self._words.values() for word in found)

    def judge(self, sentence: str) -> Outcome:
        """Return the verdict on one sentence."""
        if self._mark in sentence.casefold():
            declared = self._settings.on_ungrounded == "release"
            return Outcome(CHECK, Verdict.WARN if declared else Verdict.FAIL, DECLARED)
        reason = self._reason(sentence)
        return Outcome(CHECK, Verdict.FAIL if reason else Verdict.PASS, reason)

    def support(self, sentence: str, sources: frozenset[str]) -> float:
        """Return the weight of a sentence's content words that its sources contain, 0 to 1; 1 without content words."""
        found = set(content_words(MARK.sub(" ", sentence)))
        held = frozenset().union(*(self._words[source] for source in sources))
        total = sum(map(self._weight, found))
        return sum(self._weight(word) for word in found & held) / total if total else 1.0

    def _reason(self, sentence: str) -> str:
        plain = _LEAD.sub("", MARK.sub(" ", sentence))
        sources = frozenset(sources_of(sentence))
        if not sources and not states_something(plain, sentence):
            return ""
        if not self._words:
            return "no-passages"
        if not sources:
            return "missing"
        if not sources <= self._words.keys():
            return "unknown-source"
        stated = frozenset().union(*(self._numbers[source] for source in sources))
        if any(not forms & stated for forms in _numbers(plain)):
            return "number-unsupported"
        return "unsupported" if self.support(plain, sources) < self._settings.min_support else ""

    def _weight(self, word: str) -> float:
        # BM25's idf. A word of no passage, such as a paraphrase adds, counts like a word of one passage.
        spread, passages = max(1, self._spread[word]), len(self._words)
        return math.log(1 + (passages - spread + 0.5) / (spread + 0.5)) + _LEAST_WEIGHT


_LEAST_WEIGHT = 0.2  # weight of a word of every passage; guess, 2026-11


def states_something(plain: str, sentence: str) -> bool:
    """Return whether a sentence needs a citation.

    Args:
        plain: the sentence without citation marks and list numbers.
        sentence: the sentence as written.
    """
    if _NO_STATEMENT.search(sentence) or _QUESTION.search(plain):
        return False
    return any(character.isdigit() for character in plain) or len(set(content_words(plain))) >= _FEWEST_WORDS


def sources_of(sentence: str) -> Iterator[str]:
    """Yield the ids in a sentence's citation marks, case-folded."""
    for mark in MARK.finditer(sentence):
        for part in re.split(r"\s*[,;]\s*", mark["ids"]):
            spanned = _RANGE.fullmatch(part)
            if spanned and 0 < int(spanned[2]) - int(spanned[1]) < _WIDEST_RANGE:
                yield from map(str, range(int(spanned[1]), int(spanned[2]) + 1))
            else:
                yield part.strip().lstrip("^").casefold()


def content_words(text: str) -> list[str]:
    """Return the stems of the content words of `text`; pairs of characters in scripts without spaces."""
    found, before = [], ""
    for word in words(as_read(text)):
        if len(word) == 1 and ord(word) > 0xE00:
            if before:
                found.append(before + word)
            before = word
            continue
        before = ""
        if word not in _LITTLE and len(word) > 1 and not word.isdigit():
            found.append(word)
    return [stem[:_STEM_LETTERS] for stem in stems(found, STEMMED)]


def _numbers(text: str) -> Iterator[frozenset[str]]:
    """Yield the forms of each number and identifier of `text`, one of which must be in the passage."""
    for token in _TOKEN.finditer(as_read(text)):
        for part in _parts(token.group()):
            yield frozenset(_forms(part))


def _number_forms(text: str) -> Iterator[str]:
    for token in _TOKEN.finditer(as_read(text)):
        yield token.group().casefold()
        for part in _parts(token.group()):
            yield from _forms(part)


def _parts(token: str) -> list[str]:
    """Return the numbers of a date or time; any other token as a whole."""
    return re.split(r"[.:/-]", token) if _DATE.fullmatch(token) else [token]


def _forms(token: str) -> Iterator[str]:
    """Yield the notations of a token: digits without separators, and as decimals; without a unit."""
    if not token[0].isdigit():
        yield token.casefold()
        return
    number = re.sub(r"[ \u00a0\u202f'’]", "", re.split(r"[^\W\d_]", token)[0]).rstrip(".,:/-")
    if _GROUPED.match(number):
        yield re.sub(r"[.,]", "", number)
    whole, separator, fraction = number.replace(",", ".").rpartition(".")
    if not separator:
        yield fraction.lstrip("0") or "0"
    else:
        whole, fraction = whole.replace(".", "").lstrip("0") or "0", fraction.rstrip("0")
        yield f"{whole}.{fraction}" if fraction else whole
