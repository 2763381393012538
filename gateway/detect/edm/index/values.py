"""Values that support a name: account, birth date, phone, e-mail, address, customer number; in a list and in a text.

Each value has one canonical form with a letter for its type in front, so that a date never equals an account.

    values_in_row({"birth_date": "03.02.1985"})          # {"d1985-02-03"}
    Values("born on 1985-02-03", index.supporting).near(0)      # hashes of the listed ones
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from ...language.language import NONE, UNKNOWN, languages
from ...language.stop_words import OWN_LETTERS
from .table import date_of

_NOT_ALNUM = re.compile(r"[\W_]+")
# A digit first, so that everything else is skipped in one step.
_DATE = re.compile(r"\d(?<!\d\d)(?:\d{3}[-/.]\d{1,2}[-/.]\d{1,2}|\d?[-/.]\d{1,2}[-/.]\d{4})(?!\d)")
DIGITS = re.compile(r"\d[\d./ \u00a0-]{2,32}[\dA-Za-z](?!\w)")
"""Pattern of possible account or customer numbers."""
_PREFIX = re.compile(r"(?<!\w)[A-Za-z]{1,6}[-/ ]?\Z")
LONGEST_PREFIX = 8  # characters, with the text before it
_SPACE = re.compile(r"[ \u00a0]+")
_MOST_GROUPS = 8
_LONGEST_LOCAL_PART = 64  # characters, RFC 5321 4.5.3.1.1
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_STREET = re.compile(r"[^\W\d_][^\W_]{1,30}")
_STREET_BEFORE = re.compile(r"([^\W\d_][^\W_]{1,30})[^\w\n]*\Z")
_LONGEST_STREET = 32
_HOUSE = re.compile(r"(?<!\w)\d{1,5}(?:[ ]?[A-Za-z])?(?!\w)")

_GERMAN = re.compile(r"\b(?:der|die|das|und|nicht|ist|ein|eine|mit|den|dem|von|zu|auf|für|im|wird|sich)\b")
_FEWEST_GERMAN = 3  # of these words
_WITHOUT_GENITIVE_S = frozenset(("es", "pt", "fr", "it", "ca", "id", "tr", "ms", "vi"))
_WITHOUT_CASES = _WITHOUT_GENITIVE_S | {"en", "de", "nl", "sv", "da", "no"}
_WITH_SUFFIXES = frozenset(("tr", "az", "uz", "tk", "kk", "hu", "fi", "et", "id", "ms"))
_NEARBY = 160  # characters around a name in which something of the same person supports it
_FEWEST_DIGITS = 4
_SHORTEST_NUMBER = 5  # characters; shorter numbers are ambiguous
_PHONE_DIGITS = 9  # the last ones; what is before them is written in several ways


def values_in_row(fields: Mapping[str, str]) -> set[str]:
    """Return the values of a row that support a name, except its numbers."""
    found = set()
    if date := date_of(fields.get("birth_date", "")):
        found.add(f"d{date}")
    if email := fields.get("email"):
        found.add(f"e{email.casefold()}")
    if address := fields.get("address"):
        found.update(form for _, form in _addresses(address.partition(",")[0]))
    return found


def numbers_in_row(fields: Mapping[str, str]) -> set[str]:
    """Return the numbers of a row to find in texts: accounts, customers, telephones."""
    found = {form for field in ("account", "id") for form in _number_forms(fields.get(field, ""))}
    digits = "".join(filter(str.isdigit, fields.get("phone", "")))
    if len(digits) >= _PHONE_DIGITS:
        found.add(f"p{digits[-_PHONE_DIGITS:]}")
    return found


def numbers_at(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of candidates for such a number; spaces may be in or around them.

    Args:
        start, end: of a match of `DIGITS`.
    """
    before = _PREFIX.search(text, max(0, start - LONGEST_PREFIX), start)
    if before is None and _is_word(text[start - 1 : start]):
        return
    starts, ends = [start], []
    for gap in _SPACE.finditer(text, start, end):
        ends.append(gap.start())
        starts.append(gap.end())
    ends.append(end)
    for first in range(min(len(starts), _MOST_GROUPS)):
        for last in range(min(len(ends), _MOST_GROUPS) - 1, first - 1, -1):
            if before is not None and first == 0:
                yield before.start(), ends[last]
            if before is None or first > 0 or not before.group().isalpha():
                yield starts[first], ends[last]


def forms_of(written: str) -> tuple[str, ...]:
    """Return the forms of the number of an account, a customer or a telephone; empty if it is too short."""
    digits = "".join(filter(str.isdigit, written))
    forms = _number_forms(written)
    return (*forms, f"p{digits[-_PHONE_DIGITS:]}") if len(digits) >= _PHONE_DIGITS else forms


class Number(NamedTuple):
    """A candidate for a listed number."""

    start: int
    end: int
    form: str
    hashed: int


class Values:
    """Hashes of values of a text that can support a name; computed on first use.

    Args:
        hash_of: returns the hash of a value; None for an unlisted value.
        strangers: hashes of what was found to be no number of the list.
        add_stranger: called for one more.
        has_addresses: the list has some; every number in a text could be that of a house.
    """

    def __init__(
        self,
        text: str,
        hash_of: Callable[[str], int | None],
        *,
        strangers: Container[int] = (),
        add_stranger: Callable[[int], None] = lambda _hashed: None,
        has_addresses: bool = True,
    ) -> None:
        self._text = text
        self._has_addresses = has_addresses
        self._hash_of = hash_of
        self._strangers, self._add_stranger = strangers, add_stranger
        self._places: list[int] | None = None
        self._hashes: list[int] = []

    @cached_property
    def numbers(self) -> list[Number]:
        """Possible account, customer and telephone numbers; the list decides which of them are listed."""
        text, found = self._text, []
        for match in DIGITS.finditer(text):
            start, end = match.span()
            hashed = hash(text[max(0, start - LONGEST_PREFIX) : end])
            if hashed not in self._strangers:
                known = list(self._numbers_at(start, end))
                found += known
                if not known:
                    self._add_stranger(hashed)
        return found

    def _numbers_at(self, start: int, end: int) -> Iterator[Number]:
        for first, last in numbers_at(self._text, start, end):
            for form in forms_of(self._text[first:last]):
                hashed = self._hash_of(form)
                if hashed is not None:
                    yield Number(first, last, form, hashed)

    @cached_property
    def is_lower(self) -> bool:
        """Whether the text has no capital."""
        return self._text == self._text.lower()

    @cached_property
    def is_german(self) -> bool:
        """Whether the language of the text capitalizes every noun."""
        return len(set(_GERMAN.findall(self._text))) >= _FEWEST_GERMAN

    def is_foreign(self, everyday_in: frozenset[str]) -> bool:
        """Return whether a word is a common word only in languages other than those of the text."""
        return self._languages.isdisjoint(everyday_in | {UNKNOWN, NONE})

    def may_inflect(self, name: str) -> bool:
        """Return False if no language of the text, and no letter of the name, is of those in which names have cases."""
        languages_of_letters = {OWN_LETTERS[letter] for letter in name if letter in OWN_LETTERS}
        return not (self._languages | languages_of_letters) <= _WITHOUT_CASES

    @cached_property
    def has_suffixes(self) -> bool:
        """Whether the language adds suffixes to names."""
        return not self._languages.isdisjoint(_WITH_SUFFIXES | {UNKNOWN})

    @cached_property
    def has_genitive_s(self) -> bool:
        """False when a final s in the languages of the text is a plural's."""
        return not self._languages <= _WITHOUT_GENITIVE_S

    @cached_property
    def _languages(self) -> frozenset[str]:
        return languages(self._text)

    def near(self, place: int) -> list[int]:
        """Return the values within about 160 characters."""
        if self._places is None:
            hashes = ((start, self._hash_of(value)) for start, value in self._others())
            known = [(start, hashed) for start, hashed in hashes if hashed is not None]
            known += [(number.start, number.hashed) for number in self.numbers]
            known.sort()
            self._places = [start for start, _ in known]
            self._hashes = [hashed for _, hashed in known]
        first, last = bisect_left(self._places, place - _NEARBY), bisect_left(self._places, place + _NEARBY)
        return self._hashes[first:last]

    def _others(self) -> list[tuple[int, str]]:
        """Birth dates, addresses of people and of their mail, and where each begins."""
        found = [(at.start(), f"d{date}") for at in _DATE.finditer(self._text) if (date := date_of(at.group()))]
        found += _emails(self._text)
        if self._has_addresses:
            found += _addresses(self._text)
        return found


def _emails(text: str) -> Iterator[tuple[int, str]]:
    done, place = 0, text.find("@")
    while place >= 0:
        match = _EMAIL.search(text, max(done, place - _LONGEST_LOCAL_PART))
        if match is None:
            return
        yield match.start(), f"e{match.group().casefold()}"
        done = match.end()
        place = text.find("@", done)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _number_forms(written: str) -> tuple[str, ...]:
    plain = _NOT_ALNUM.sub("", written).upper()
    digits = sum(map(str.isdigit, plain))
    return (f"n{plain}",) if digits >= _FEWEST_DIGITS and len(plain) >= _SHORTEST_NUMBER else ()


def _addresses(text: str) -> Iterator[tuple[int, str]]:
    """Yield house numbers with the word before and the word after: `12 Elm Street`, `Lindenallee 12`."""
    for house in _HOUSE.finditer(text):
        number = house.group().replace(" ", "").lower()
        if before := _STREET_BEFORE.search(text, max(0, house.start() - _LONGEST_STREET), house.start()):
            yield house.start(), f"s{number} {before[1].casefold()}"
        if after := _STREET.search(text, house.end(), house.end() + _LONGEST_STREET):
            yield house.start(), f"s{number} {after.group().casefold()}"
