"""Recognizes numbers by the words before them: passports, driving licences, accounts, and IDs of unknown schemes.

    "passport no. AB1234567"    PASSPORT
    "account number 20481632"   ACCOUNT

The word must be in the same phrase and be the last one with a topic: "invoice 20481632" after "account" is an invoice.
Identifiers with a scheme were found before, so the numbers here have no check digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...domain.entities import EntityType
from ..context.surroundings import TextContext
from ..context.topics import Topics, named_topics
from ..findings.finding import Finding
from ..numbers.amounts import are_years, is_amount, is_of_uuid
from ..numbers.digit_runs import DigitRun
from ..schemes import FORMS, NUMBERS
from ..text.scanner import Pattern
from ..text.words import is_inside_word
from ..validators.scheme import compact
from . import passports_and_plates as loose_documents

_SCORE = 0.4
_FEWEST_DIGITS = 5


@dataclass(frozen=True)
class _Document:
    topic: str
    entity_type: EntityType
    rule: str
    fewest: int
    """Letters and digits that the shortest has."""
    most: int
    has_letters: bool = False
    """Whether digits alone count only directly after the word."""


# In order of precedence if one word belongs to several.
_DOCUMENTS = (
    _Document("@imei", EntityType.IMEI, "IMEI_BY_WORD", 14, 16),
    _Document("@passport", EntityType.PASSPORT, "PASSPORT_BY_WORD", 6, 12),
    _Document("@licence", EntityType.DRIVING_LICENCE, "LICENCE_BY_WORD", 5, 20),
    _Document("@permit", EntityType.DRIVING_LICENCE, "LICENCE_BY_WORD", 6, 20),
    _Document("@patient", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", 6, 16),
    _Document("@health", EntityType.HEALTH_ID, "HEALTH_ID_BY_WORD", 7, 16),
    _Document("@card", EntityType.CARD, "CARD_BY_WORD", 12, 19),
    _Document("@account", EntityType.ACCOUNT, "ACCOUNT_BY_WORD", 6, 34),
    _Document("@customer", EntityType.ACCOUNT, "CUSTOMER_BY_WORD", 6, 20),
    _Document("@policy", EntityType.ACCOUNT, "CUSTOMER_BY_WORD", 6, 24),
    _Document("@identity", EntityType.NATIONAL_ID, "ID_BY_WORD", 6, 20),
    _Document("@tax", EntityType.TAX_ID, "TAX_ID_BY_WORD", 7, 20),
    _Document("@register", EntityType.TAX_ID, "TAX_ID_BY_WORD", 5, 20),
    _Document("@plate", EntityType.VEHICLE, "PLATE_BY_WORD", 4, 10, has_letters=True),
)
_FEWEST = min(document.fewest for document in _DOCUMENTS if not document.has_letters)
_MOST_GROUPS = 8
_MOST_OF_RANGE = 7  # digits
_DIGITS_OF_YEAR, _FEWEST_AFTER_YEAR = 4, 8  # a year and a count have at most seven digits
_FIRST_WORDS = 4  # of the patterns; the one before is an IBAN's
_FEWEST_BEFORE_WORD = 8  # digits; fewer before a word count its things: "250000 patients"

# "1244773 is my licence number", "1244773 (driving licence)": then a shorter number before the word counts too.
_IS_SAID = re.compile(
    r" (?:is|was|ist|war|est|es|è|é|jest|to|adalah|это|—|–) (?:my|our|his|her|your|the|mein|meine|unsere|mon|ma|mi|mio"
    r"|mia|o meu|a minha|minha|mój|moje|moja|мой|моя|мои)(?!\w)| ?\((?=[^\s)]{2,20}(?: [^\s)]{2,20})?\))"
)

# Capital letters and digits, a few pieces with a space or hyphen between: "AB 1234567", "C01X00T47", "88291-LK".
_TOKEN = re.compile(r"(?:[A-Z]{1,2} )?[0-9A-Z]{1,20}(?:[ -][0-9][0-9A-Z]{0,9}){0,3}(?:-[A-Z]{1,4}(?![0-9A-Za-z]))?")
# An IBAN with a wrong digit is personal data too.
_IBAN_LIKE = re.compile(r"[A-Z]{2} ?[0-9]{2} ?[0-9A-Z]{4}(?: ?[0-9A-Z]{4}){1,6}(?: ?[0-9A-Z]{1,3})?(?![0-9A-Za-z])")
_WORD = re.compile(r"[A-Z]{3,} (?=[0-9])")
# In code the number of a card; elsewhere Polish for "Mr".
_PAN = re.compile(r"(?:^|[^A-Za-z])pan[\"'`]?\s?[:=>]\s?[\"'`]?\Z", re.IGNORECASE)
_CARD_LENGTHS, _REACH_OF_PAN = range(12, 20), 12
# Letters of the series that some countries write before the digits: "МР 1234567", "39 УА 123456".
_SERIES = re.compile(r"(?<!\w)((?:[0-9]{2} )?[^\W\d_]{1,2})[ №-]{0,2}\Z")


# Letters of a series that a sign joins to the digits, "CHE-123.456.788", "PT/123456789", and three with a space.
_JOINED_SERIES = re.compile(r"(?<![^\W_])[A-Z]{1,5}[-/]\Z")
_SPACED_SERIES = re.compile(r"(?<![^\W_])(?P<letters>[A-Z]{3})[ ]\Z")
_LETTERS_OF_SERIES = 3
_LONGEST_SERIES = 7  # characters with those around it

# "4015 № 291883", "серия 40 15 номер 291883": a passport's four digits before its six.
_SERIES_OF_DIGITS = re.compile(r"(?<![0-9.])([0-9]{2} ?[0-9]{2}),? (?:№|N|No\.?|номер|нөмірі):? ?\Z", re.IGNORECASE)
_REACH_OF_SERIES = 16


_FEWEST_OF_OWN_FORM = 4  # groups
_NEAR = (*(number.near for number in NUMBERS), *(form.near for form in FORMS))
_LABELS = frozenset(
    word.upper()
    for words in (*named_topics().values(), *(spec.split() for near in _NEAR for spec in near))
    for word in words
    if word.isalpha() and word.isascii()
) | frozenset("NUM NRO THE AND FOR ISO DIN IEC RFC VDE UNE BSI EUR USD GBP CHF PLN".split())  # noqa: SIM905
"""Words before a number that are not letters of its series: "DNI 49952387"."""
# CPF, SNILS, AHV number, Emirates ID; a card; CNPJ.
_OWN_FORM = re.compile(
    r"(?<![0-9./-])(?:[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{3}-[0-9]{3}-[0-9]{3} [0-9]{2}"
    r"|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}|784-[0-9]{4}-[0-9]{7}-[0-9]"
    r"|(?P<card>(?:4[0-9]{3}|5[1-5][0-9]{2}|6[045][0-9]{2}|35[0-9]{2})-[0-9]{4}-[0-9]{4}-[0-9]{4})"
    r"|(?P<company>[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}))(?![0-9]|[./-][0-9])"
)
_OWN_SHAPE = re.compile(b"(?=\3\3\3\2|\3\4\4\2|\3\4\7\1|\4\4\4\4|\2\3\3\4\2)")
"""Digits in their groups, as `DigitRun.shape` has them."""


def series_start(text: str, start: int) -> int:
    """Return the start of the letters that a sign joins to the digits at `text[start]`; `start` without letters."""
    if text[start - 1 : start] not in ("-", "/"):
        return start
    series = _JOINED_SERIES.search(text, max(0, start - _LONGEST_SERIES), start)
    return series.start() if series else start


class DocumentFinder:
    """Finds numbers by the words before them; also a recognizer for those with letters."""

    rules = (*(document.rule for document in _DOCUMENTS), "ID_BY_FORM")
    patterns = (
        Pattern(r"[A-Z]{1,4}-?[0-9]{3}|[A-Z] [0-9]{3}", has_case=True),
        Pattern(r"[A-Z][0-9]{2}[A-Z][0-9]", has_case=True),
        Pattern(r"[0-9]{4}-?[A-Z]", has_case=True),
        Pattern(r"[A-Z]{2} ?[0-9]{2} ?[0-9A-Z]{4} ?[0-9A-Z]{4}", has_case=True),
        *loose_documents.WORDS,
    )

    def __init__(self, topics: Topics) -> None:
        self._documents = [(document, topics.mask(document.topic)) for document in _DOCUMENTS]
        self._order, self._phone = topics.mask("@order"), topics.mask("@phone")
        self._said = self._order | topics.mask(*(document.topic for document in _DOCUMENTS))

    def at(self, text: str, start: int, pattern: int, context: TextContext) -> Finding | None:
        """Return the number with letters that contains the match at `start`, or that is next to the word there."""
        if pattern >= _FIRST_WORDS:
            for first, last in loose_documents.candidates(text, start):
                if found := self._by_word(text, first, last, compact(text[first:last]), context):
                    return found
            return None
        if pattern == _FIRST_WORDS - 1:
            match = _IBAN_LIKE.match(text, start)
            if match is None or is_inside_word(text, start, match.end()):
                return None
            return self._by_word(text, start, match.end(), compact(match.group()), context)
        while start and text[start - 1].isascii() and (text[start - 1].isupper() or text[start - 1].isdigit()):
            start -= 1
        if text[start : start + 1].isdigit() and (series := _SERIES.search(text, max(0, start - 4), start)):
            start = series.start() if series.group().isascii() and series.group(1).isupper() else start
        match = _TOKEN.match(text, start)
        # "DNI 49952387": the word is not part of it; "PVB 474870": the letters are.
        if match is not None and (word := _WORD.match(match.group())) and not _is_series(word.group()):
            match = _TOKEN.match(text, start + word.end())
            start += word.end()
        if match is None or is_inside_word(text, start, match.end()):
            return None
        value = compact(match.group())
        if sum(map(str.isdigit, value)) < _FEWEST_DIGITS or value.isdigit():
            return None
        if found := self._by_word(text, start, match.end(), value, context):
            return found
        shorter, space, _ = match.group().rpartition(" ")  # "AB1234567 8888": another number may follow
        value = compact(shorter)
        if not space or value.isdigit() or sum(map(str.isdigit, value)) < _FEWEST_DIGITS:
            return None
        return self._by_word(text, start, start + len(shorter), value, context)

    def find(self, run: DigitRun, context: TextContext) -> Iterator[Finding]:
        """The number that is all of the first line of `run`, or its first groups up to a space."""
        run = run.first_line()  # the next line may begin with a list marker: "12-345678\n2. The customer"
        last = len(run.starts) - 1
        if last and _is_range(run):
            return
        for end in (last, *_ends(run)) if last else (0,):
            digits = run.digits(0, end)
            if len(digits) < _FEWEST or end >= _MOST_GROUPS:
                continue
            gaps = run.gaps[:end]
            if are_years(run, 0, end) or (end and len(digits) < _FEWEST_AFTER_YEAR and _begins_with_year(run)):
                continue
            if " " in gaps and "." in gaps:
                continue  # decimals side by side: "514.38 202.5"
            start = run.starts[0]
            if found := self._by_word(run.text, start, run.ends[end], digits, context):
                yield found
                return
            if len(digits) in _CARD_LENGTHS and _PAN.search(run.text, max(0, start - _REACH_OF_PAN), start):
                yield Finding(start, run.ends[end], EntityType.CARD, _SCORE, digits, "CARD_BY_WORD")
                return

    def in_own_form(self, run: DigitRun, context: TextContext) -> Iterator[Finding]:
        """Yield numbers with the punctuation of a single issuer; here, their check digit is wrong."""
        if len(run.starts) < _FEWEST_OF_OWN_FORM:
            return
        for begin in _OWN_SHAPE.finditer(run.shape):
            match = _OWN_FORM.match(run.text, run.starts[begin.start()], run.ends[-1])
            if match is not None and not context(*match.span()).touching & self._order:
                entity_type = (
                    EntityType.CARD
                    if match["card"]
                    else EntityType.TAX_ID
                    if match["company"]
                    else EntityType.NATIONAL_ID
                )
                yield Finding(*match.span(), entity_type, _SCORE, compact(match.group()), "ID_BY_FORM")

    def _by_word(self, text: str, start: int, end: int, value: str, context: TextContext) -> Finding | None:
        words = context(start, end)
        closest = words.closest
        if closest & self._phone and not value.isdigit():
            closest = words.before  # "my number" is not a telephone number
        said = words.before & closest & self._said
        if not said and (
            len(value) >= _FEWEST_BEFORE_WORD or not value.isdigit() or _IS_SAID.match(text, end) is not None
        ):
            said = words.after
        if not said or said & self._order:
            return None
        for document, mask in self._documents:
            if document.has_letters and value.isdigit() and not words.touching & mask:
                continue
            if said & mask and document.fewest <= len(value) <= document.most:
                break
        else:
            return None
        if words.following & self._order and not words.touching & said:
            return None
        if is_amount(text, start, end) or is_of_uuid(text, start, end):
            return None
        series = _SERIES.search(text, max(0, start - 6), start) if value.isdigit() else None
        if series is not None and series.group(1).isupper():
            start, value = series.start(), series.group(1) + value
        elif value.isdigit() and (joined := series_start(text, start)) < start:
            start, value = joined, compact(text[joined:start]) + value
        elif (
            value.isdigit()
            and (spaced := _SPACED_SERIES.search(text, max(0, start - _LONGEST_SERIES), start))
            and _is_series(spaced.group())
        ):
            start, value = spaced.start(), spaced["letters"] + value
        elif document.entity_type is EntityType.PASSPORT and (
            series := _SERIES_OF_DIGITS.search(text, max(0, start - _REACH_OF_SERIES), start)
        ):
            start, value = series.start(), compact(series.group(1)) + value
        return Finding(start, end, document.entity_type, _SCORE, value, document.rule)


def _is_series(word: str) -> bool:
    """Return whether capitals before digits are a series: three letters that are not a label."""
    letters = word.strip()
    return len(letters) == _LETTERS_OF_SERIES and letters not in _LABELS


def _ends(run: DigitRun) -> Iterator[int]:
    """The groups with which a number may end that a space parts from the next, the last first; and the first one."""
    gaps = run.gaps[:_MOST_GROUPS]
    for end in range(len(gaps) - 1, 0, -1):
        if gaps[end] == " " and " " not in gaps[:end]:
            yield end
    yield 0


def _begins_with_year(run: DigitRun) -> bool:
    """Return whether the first group is a year and a count follows it: "2024 39 times"."""
    return run.gaps[0] == " " and run.lengths[0] == _DIGITS_OF_YEAR and run.groups[0][:2] in ("19", "20")


def _is_range(run: DigitRun) -> bool:
    """Return whether it goes from one number to another: "120000 - 360000", "15 001-19 999"."""
    lengths, gaps = run.lengths, run.gaps
    if gaps == [" - "]:
        return lengths[0] == lengths[1] <= _MOST_OF_RANGE
    return gaps == [" ", "-", " "] and lengths[1] == lengths[3] == 3 and lengths[0] <= 3
